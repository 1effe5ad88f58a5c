#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "node/group/exchange.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// The exchange by which ranks of one host make their memory: rank i is rank members[i] of an engine in use. Each
// allgather is one run. Hosts may differ in the number of exchanges, so each ends with fill_up().
class HostExchange final : public node::Exchange {
 public:
  // Precondition: `members` is ascending, and has the engine's rank. `timeout`: as engine::Options.
  HostExchange(engine::Engine& engine, std::span<const std::int32_t> members, double timeout);
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(members_.size()); }
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override;
  using Exchange::allgather;

  // Counts the remaining runs of `kMostRuns`. Returns the first failure.
  Status fill_up() noexcept;

  static constexpr int kMostRuns = 96;

 private:
  engine::Engine& engine_;
  std::span<const std::int32_t> members_;
  int rank_ = 0, runs_ = 0;
  engine::Work work_;
  Status status_ = Status::ok;
  std::array<char, 512> why_{};
};

// Turns a schedule among `peers` into one of all `ranks`. If each rank has a block, those of other ranks are empty, and
// `peers` are ascending. `root`: its place among them.
void place_between(std::span<const std::int32_t> peers, int root, int rank, int ranks,
                   schedule::Schedule* made) noexcept;

}  // namespace stretto::backend
