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

// `home`: writable memory for the raw form (perhaps where raw is); null: a pool's buffer serves.
struct Cell {
  Value value;
  std::size_t count = 0;
  double eps = 0;
  std::byte* home = nullptr;
  const Lane* lane = nullptr;
};

class Worker {
 public:
  // `reduces`: the collective combines. `executor` outlives the worker, and its lanes' pools the values.
  void begin(const Spec& spec, bool reduces, Executor* executor) noexcept;

  const Spec& spec() const noexcept { return spec_; }
  const Seconds& seconds() const noexcept { return executor_->seconds; }
  bool compressed() const noexcept { return is_compressed(spec_.kind); }
  // Without a header a block may have any bytes, and its length follows from its count.
  bool has_header() const noexcept { return traits().form == Form::streams; }
  std::size_t raw_bytes(std::size_t count) const noexcept { return count * size_; }

  // Streams have whole codec groups.
  std::size_t grain() const noexcept { return compressed() ? 1024 : 1; }

  // Longest message, without (message_bound) and with sums of many values off the grid.
  std::size_t message_bound(std::size_t count) const noexcept;
  std::size_t longest(std::size_t count) const noexcept;

  // Makes raw values (payload raw) or a stream; under cprp2p a new stream.
  Status pack(Cell& cell) noexcept;

  // Before a raw send. `settle`: all ranks must end with the sent value, so if some get a stream it is decoded.
  Status pack_raw(Cell& cell, bool settle) noexcept;

  // Decoded at once under cprp2p. Raw values lie in `store`.
  Status replace(Cell& dst, Stream arrived) noexcept;
  Status replace(Cell& dst, std::byte* arrived, const Buffer& store) noexcept;

  void landed(Cell& dst) noexcept;

  // dst = dst (+) arrived, or arrived (+) dst. Raw values lie in `store`; a user's function may change them.
  Status meet(Cell& dst, Stream arrived, bool arrived_first) noexcept;
  Status meet(Cell& dst, std::byte* arrived, const Buffer& store, bool arrived_first) noexcept;

  // dst = dst (+) src, or src (+) dst.
  Status meet(Cell& dst, Cell& src, bool src_first) noexcept;

  // Shares values that no step writes.
  Status copy(Cell& dst, Cell& src) noexcept;

  // If the payload asks for codes before a stream meets the contribution.
  Status quantise(Cell& cell) noexcept;

  // `n` vectors (n != 1, or negated), into a value that owns the result.
  Status load(Cell& cell, const std::byte* const* inputs, std::size_t n, bool negate) noexcept;

  // Raw values in cell.home. `from_stream`: decoded from the stream (made if needed), so that all ranks agree. divisor
  // > 1: the mean. Where raw and streams mix, values are divided after decoding, as ranks may hold either.
  Status finish(Cell& cell, bool from_stream, std::uint32_t divisor) noexcept;

 private:
  const Traits& traits() const noexcept { return payload::traits(spec_.kind); }
  bool fuses() const noexcept { return sums_ && traits().fuses; }
  void enter(const Cell& cell) noexcept { executor_->enter(*cell.lane); }
  Status make_stream(Value& value, std::size_t count, double eps) noexcept;
  Status make_raw(Cell& cell) noexcept;
  Status home(Cell& cell, std::byte** at, Buffer* store) noexcept;
  Status add_raw(Value& value, const std::byte* x, std::size_t count, const Buffer& codes) noexcept;
  Status add_stream(Value& value, std::size_t count, const Stream& other) noexcept;

  Spec spec_{};
  bool reduces_ = false;
  bool sums_ = false;
  codec::Type type_{};
  codec::Combine combine_{};
  std::size_t size_ = 0;
  Executor* executor_ = nullptr;
};

}  // namespace stretto::payload
