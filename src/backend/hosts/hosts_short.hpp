// Short calls on several hosts (docs/node.md), of exact values, or of blocks within a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/hosts/hosts.hpp"

namespace stretto::backend {

// An exact allreduce, reduce or bcast within schedule::longest_short_vector(), or a barrier.
bool is_short(const Shape& shape) noexcept;

// An allgather or alltoall whose blocks of all ranks fit schedule::kLongestShortVector; `coded`, kLongestCodedVector.
bool has_short_blocks(const Shape& shape, int ranks, bool coded) noexcept;

class ShortCall : public PreparedCall {
 public:
  // After a failure the engine has given up, and told all others.
  Status run(const void* send, void* recv, double timeout) noexcept override;

  // As the engine's run `number`, which is counted. Adds messages to other hosts to *ran, unless null.
  Status run_as(std::uint64_t number, const void* send, void* recv, double timeout, engine::Report* ran) noexcept;

 protected:
  // `signature`: of what else is equal on all ranks. Throws std::bad_alloc.
  ShortCall(Hosts& hosts, const Shape& shape, std::uint64_t signature = 0);

  // Memory of messages, which may be in flight after a failure.
  virtual Status make_rooms() noexcept = 0;
  virtual void retain_rooms() noexcept = 0;

  // Null: in place.
  virtual Status move(const void* in, void* out) noexcept = 0;

  Status exchange(std::span<const engine::ShortMessage> messages) noexcept;

  // Of streams that this rank's host has got.
  void promise(double error) noexcept;

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

// How each message between hosts may become a stream, which states its own type and bound. A relative bound is one of
// the message's values, whose range is within that of all ranks.
struct BlockCoding {
  codec::Type type = codec::Type::f32;
  bool relative = false;
  double bound = 0, ignore_above = 0;
};

// `coding`: null for exact values; only of an alltoall.
std::unique_ptr<ShortCall> make_short_call(Hosts& hosts, const Shape& shape, const BlockCoding* coding = nullptr);

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
  ShortBlocks(Hosts& hosts, const Shape& shape, const BlockCoding* coding);

 private:
  using Members = std::vector<std::int32_t>;

  Status make_rooms() noexcept override;
  void retain_rooms() noexcept override;
  Status move(const void* in, void* out) noexcept override;
  Status allgather(const std::byte* in, std::byte* out) noexcept;  // null: in place
  Status alltoall(const std::byte* own, std::byte* out) noexcept;

  // With all other hosts, a few at a time: `bytes` for each rank there, one host's after another's.
  Status exchange_all(std::byte* out, std::byte* in, std::size_t bytes) noexcept;

  // Behind a vector on its way inside a host, of coded calls.
  struct Note {
    codec::Type type{};  // ranks may name data otherwise: then messages stay raw
    double error = 0;    // of the host's streams
  };

  const std::byte* noted(const std::byte* own) noexcept;
  bool is_of_one_type() const noexcept;
  void encode(std::size_t host, const std::byte* values, std::size_t bytes) noexcept;
  Status decode(std::size_t host, std::byte* values, std::size_t bytes) noexcept;
  const Members& here() const noexcept { return at_.members[here_]; }
  std::size_t hosts() const noexcept { return at_.members.size(); }

  const std::size_t ranks_, rank_;
  std::vector<std::size_t> before_;
  std::byte *first_ = nullptr, *second_ = nullptr;

  struct Coded {
    std::byte *made = nullptr, *got = nullptr;
    const std::byte* sent = nullptr;
    std::size_t made_bytes = 0, sent_bytes = 0, got_bytes = 0;
  };
  const std::optional<BlockCoding> coding_;
  std::vector<Coded> coded_;      // by host
  std::vector<std::byte> noted_;  // a vector and its note
  bool encodes_ = false;
  double error_ = 0;
};

}  // namespace stretto::backend
