// One call's blocks on this rank as cells (plan.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/plan.hpp"
#include "payload/worker.hpp"

namespace stretto::engine {

// In place of a stream: an absent contribution.
constexpr std::byte kAbsentMark{0};

struct Piece {
  const std::byte* data = nullptr;  // null: an absent contribution, of one byte
  std::size_t bytes = 0;
  payload::Buffer keeps;
  const payload::Lane* lane = nullptr;
};

class Values {
 public:
  explicit Values(const Plan& plan) noexcept : plan_(plan) {}

  // Finds blocks in place, and copies inputs that results would overwrite. `executor` outlives the values.
  Status begin(const Work& call, const payload::Spec& spec, payload::Executor& executor);

  Status make_plan(const Options& options, Plan* plan) const;

  Status bind();

  void end() noexcept;
  payload::Buffer scratch;  // homes of blocks that the caller lacks
  payload::Buffer inputs_copy;

  const schedule::Schedule& schedule() const noexcept { return *schedule_; }
  const payload::Worker& worker() const noexcept { return worker_; }
  payload::Executor& executor() noexcept { return *executor_; }
  const payload::Spec& spec() const noexcept { return worker_.spec(); }
  bool reduces() const noexcept { return reduces_; }
  std::uint32_t contributions() const noexcept { return contributions_; }
  std::size_t total_bytes() const noexcept;
  std::span<const Part> parts() const noexcept { return parts_of_vector_; }

  payload::Cell& at(std::uint32_t cell) noexcept { return cells_[plan_.cell(cell)]; }
  const payload::Cell& at(std::uint32_t cell) const noexcept { return cells_[plan_.cell(cell)]; }
  std::span<payload::Cell> cells() noexcept { return cells_; }

  // Raw, and the most of streams (sums of many values off the grid may take more).
  std::size_t raw_bytes(const Unit& unit) const noexcept;
  std::size_t message_bound(const Unit& unit) const noexcept;

  bool lands_in_place(const Unit& unit) const noexcept;

  // Computes a contribution at its first use.
  Status load(std::uint32_t cell) noexcept;

  // *fixed: no unit writes their memory.
  Status pack(const Unit& unit, bool* fixed) noexcept;
  Piece packed(const Unit& unit, std::uint32_t i) const noexcept;

  // `arrived`: a stream (perhaps absent) or raw values.
  Status take_in(const Unit& unit, std::uint32_t i, payload::Stream arrived) noexcept;
  void landed(const Unit& unit) noexcept;

  Status execute(const Unit& unit) noexcept;

  Status quantise() noexcept;

 private:
  const Plan& plan_;
  std::shared_ptr<const schedule::Schedule> schedule_;
  payload::Executor* executor_ = nullptr;
  payload::Worker worker_;
  bool reduces_ = false;
  bool several_ = false;
  bool negates_ = false;
  bool from_stream_ = false;
  std::uint32_t contributions_ = 1;
  std::vector<Block> blocks_;
  std::vector<Part> parts_of_vector_;
  std::vector<const void*> inputs_;
  std::vector<const std::byte*> parts_;
  std::vector<std::uint8_t> merged_;
  std::vector<payload::Cell> cells_;
  std::vector<std::uint8_t> unloaded_;
};

}  // namespace stretto::engine
