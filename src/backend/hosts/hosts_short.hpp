// Short calls of exact values on several hosts (docs/node.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/hosts/hosts.hpp"

namespace stretto::backend {

// An exact allreduce, reduce, bcast or barrier within schedule::kLongestShortCall.
bool is_short(const Shape& shape) noexcept;

// An allgather or alltoall whose blocks of all ranks fit schedule::kLongestShortVector.
bool has_short_blocks(const Shape& shape, int ranks) noexcept;

class ShortCall : public PreparedCall {
 public:
  // After a failure the engine has given up, and told all others.
  Status run(const void* send, void* recv, double timeout) noexcept override;

  // As the engine's run `number`, which is counted. Adds messages to other hosts to *ran, unless null.
  Status run_as(std::uint64_t number, const void* send, void* recv, double timeout, engine::Report* ran) noexcept;

 protected:
  ShortCall(Hosts& hosts, const Shape& shape);  // throws std::bad_alloc

  // Memory of messages, which may be in flight after a failure.
  virtual Status make_rooms() noexcept = 0;
  virtual void retain_rooms() noexcept = 0;

  // Null: in place.
  virtual Status move(const void* in, void* out) noexcept = 0;

  Status exchange(std::span<const engine::ShortMessage> messages) noexcept;

  Hosts& at_;
  const Collective kind_;
  const std::size_t bytes_;          // of an operand, or a block
  std::vector<std::int32_t> peers_;  // the rank that stands for each host
  const std::size_t here_;
  std::size_t root_host_ = 0;
  int stands_ = 0;  // position of this host's representative among its ranks
  bool is_peer_ = false, at_root_ = false;

 private:
  const std::uint64_t signature_;
  engine::ShortRun run_;
  engine::Report* ran_ = nullptr;
};

std::unique_ptr<ShortCall> make_short_call(Hosts& hosts, const Shape& shape);

class ShortVector final : public ShortCall {
 public:
  ShortVector(Hosts& hosts, const Shape& shape);

 private:
  static constexpr std::size_t kRooms = ShortRoom::kRooms;

  Status make_rooms() noexcept override;
  void retain_rooms() noexcept override;
  Status move(const void* in, void* out) noexcept override;
  Status combine_all(const void* in, void* out) noexcept;
  Status bcast(void* data) noexcept;
  Status finish() noexcept;

  // The operand, and then the result, is in own().
  Status sum_on_all() noexcept;
  Status sum_on_root() noexcept;
  Status send_from_root() noexcept;

  // With another host's representative, whose message comes into other().
  Status swap(std::size_t with) noexcept;
  Status send(std::size_t to) noexcept;
  Status receive(std::size_t from) noexcept;
  Status combine(bool other_first) noexcept;

  std::byte* room(std::size_t i) const noexcept { return at_.short_room->bytes[i].data(); }
  std::byte* own() const noexcept { return room(own_); }
  std::byte* other() const noexcept { return room((own_ + 1) % kRooms); }

  const std::size_t count_;
  const payload::Type type_;
  node::Combination inside_;
  bool is_mean_ = false;
  std::vector<std::byte> arrivals_;  // of a barrier, by rank of this host
  std::size_t own_ = 0;
};

class ShortBlocks final : public ShortCall {
 public:
  ShortBlocks(Hosts& hosts, const Shape& shape);

 private:
  using Members = std::vector<std::int32_t>;

  Status make_rooms() noexcept override;
  void retain_rooms() noexcept override;
  Status move(const void* in, void* out) noexcept override;
  Status allgather(const std::byte* in, std::byte* out) noexcept;  // null: in place
  Status alltoall(const std::byte* own, std::byte* out) noexcept;

  // With all other hosts, a few at a time: `bytes` for each rank there, one host's after another's.
  Status exchange_all(std::byte* out, std::byte* in, std::size_t bytes) noexcept;

  const Members& here() const noexcept { return at_.members[here_]; }
  std::size_t hosts() const noexcept { return at_.members.size(); }

  const std::size_t ranks_, rank_;
  std::vector<std::size_t> before_;
  std::byte *first_ = nullptr, *second_ = nullptr;
};

}  // namespace stretto::backend
