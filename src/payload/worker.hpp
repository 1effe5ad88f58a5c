// Brings values into the form that a step needs and lets them meet. One worker serves one run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/executor.hpp"
#include "payload/payload.hpp"
#include "payload/pool.hpp"
#include "payload/seconds.hpp"
#include "payload/value.hpp"

namespace stretto::payload {

// Where a value may be unfolded: `home` is memory for its raw form that may be written (and may be where raw is
// already); where it is null a pool's buffer serves.
struct Cell {
  Value value;
  std::size_t count = 0;  // elements
  std::byte* home = nullptr;
};

class Worker {
 public:
  // `reduces`: the collective combines. The pool outlives the worker and all values it makes. `executor`: values lie in
  // its memory, and it executes the operations on them; null: values lie in the host's memory.
  void begin(const Spec& spec, bool reduces, Pool* pool, const codec::Parallel* parallel,
             Executor* executor = nullptr) noexcept;

  // From now on takes memory from another pool.
  void take_from(Pool& pool) noexcept { pool_ = &pool; }

  const Spec& spec() const noexcept { return spec_; }
  const Seconds& seconds() const noexcept { return seconds_; }
  bool compressed() const noexcept { return spec_.kind != Kind::raw; }
  std::size_t raw_bytes(std::size_t count) const noexcept { return count * size_; }

  // Values are cut on multiples of this many elements: for streams, the codec's groups (docs/format.md), which stay whole.
  std::size_t grain() const noexcept { return compressed() ? 1024 : 1; }

  // Longest message that a value of `count` elements makes, but for sums of many values off the grid; and those included.
  std::size_t message_bound(std::size_t count) const noexcept;
  std::size_t longest(std::size_t count) const noexcept;

  // Before the value is sent: raw is at hand (payload raw), or a stream is; under cprp2p a new one.
  Status pack(Cell& cell) noexcept;

  // Prepares a value that is sent raw. `settle`: all ranks must end with the value that is sent. If some of them get a stream, it is
  // the stream's decoded value.
  Status pack_raw(Cell& cell, bool settle) noexcept;

  // dst = what arrived. Under cprp2p it is decoded at once. A raw `arrived` lies in `store`.
  Status replace(Cell& dst, Stream arrived) noexcept;
  Status replace(Cell& dst, std::byte* arrived, const Buffer& store) noexcept;

  // dst = what arrived at its home.
  void landed(Cell& dst) noexcept;

  // dst = dst (+) arrived, or arrived (+) dst. A raw `arrived` lies in `store` (and may be changed by a user's function).
  Status meet(Cell& dst, Stream arrived, bool arrived_first) noexcept;
  Status meet(Cell& dst, std::byte* arrived, const Buffer& store, bool arrived_first) noexcept;

  // dst = dst (+) src, or src (+) dst, both on this rank.
  Status meet(Cell& dst, Cell& src, bool src_first) noexcept;

  // dst = src; values that no step writes are shared, not copied.
  Status copy(Cell& dst, Cell& src) noexcept;

  // Bytes that nobody else touches meanwhile.
  Status copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

  // Finds the codes of a contribution before a stream meets it, where the payload asks for that.
  Status quantise(Cell& cell) noexcept;

  // Load one rank's contribution from `n` vectors (n != 1, or negated) into a value that owns it.
  Status load(Cell& cell, const std::byte* const* inputs, std::size_t n, bool negate) noexcept;

  // The result: raw values in cell.home. `from_stream`: decode the stream (made now if need be), so that all ranks agree.
  // divisor > 1: the mean. (Where raw and streams mix the division follows, as ranks may hold either.)
  Status finish(Cell& cell, bool from_stream, std::uint32_t divisor) noexcept;

 private:
  Status make_stream(Value& value, std::size_t count) noexcept;
  Status make_raw(Cell& cell) noexcept;
  Status home(Cell& cell, std::byte** at, Buffer* store) noexcept;
  Status add_raw(Value& value, const std::byte* x, std::size_t count, Buffer codes = {}) noexcept;
  Status add_stream(Value& value, std::size_t count, const Stream& other) noexcept;
  Status unpack(const Stream& stream, std::byte* to, std::size_t count, std::uint32_t divisor = 1) noexcept;

  // Operations on raw values, by the host or the executor.
  Status combine_raw(const void* left, const void* right, std::byte* out, std::size_t count) noexcept;
  Status negate(const std::byte* in, std::byte* out, std::size_t count) noexcept;
  Status divide(std::byte* values, std::size_t count, std::uint32_t divisor) noexcept;
  Status clear_bytes(std::byte* to, std::size_t bytes) noexcept;

  Spec spec_{};
  bool reduces_ = false;
  bool sums_ = false;  // the operation adds codes
  codec::Type type_{};
  codec::Combine combine_{};
  std::size_t size_ = 0;  // bytes of an element
  Pool* pool_ = nullptr;
  Executor* executor_ = nullptr;
  codec::Options options_{};
  Seconds seconds_{};
};

}  // namespace stretto::payload
