#include "payload/worker.hpp"

#include <chrono>
#include <cstring>

#include "payload/arithmetic.hpp"

namespace stretto::payload {
namespace {

// Adds the time from its making to its end to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) noexcept : total_(total), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point begin_;
};

codec::Combine combine_of(Op op) noexcept {
  if (op == Op::min) return codec::Combine::min;
  if (op == Op::max) return codec::Combine::max;
  return codec::Combine::add;
}

void set_raw(Value& value, const std::byte* raw, bool fixed) noexcept {
  value.raw = raw;
  value.raw_store = Buffer{};
  value.raw_fixed = fixed;
  value.settled = false;
  value.absent = false;
}

codec::MutableBytes room(const Buffer& buffer) noexcept { return {buffer.data(), buffer.capacity()}; }

}  // namespace

void Worker::begin(const Spec& spec, bool reduces, Pool* pool, const codec::Parallel* parallel) noexcept {
  spec_ = spec;
  reduces_ = reduces;
  sums_ = spec.op != Op::min && spec.op != Op::max;
  type_ = codec_type(spec.type).value_or(codec::Type::f32);
  combine_ = combine_of(spec.op);
  size_ = size_of(spec.type);
  pool_ = pool;
  options_ = {};
  options_.checksum = spec.checksum;
  options_.magnitude = spec.magnitude;
  options_.parallel = parallel;
  seconds_ = {};
}

std::size_t Worker::message_bound(std::size_t count) const noexcept {
  if (!compressed()) return raw_bytes(count);
  return codec::compress_bound(type_, count);
}

std::size_t Worker::longest(std::size_t count) const noexcept {
  return compressed() ? codec::combine_bound(type_, count) : raw_bytes(count);
}

Status Worker::make_stream(Value& value, std::size_t count) noexcept {
  if (value.stream || value.absent) return Status::ok;
  if (value.raw == nullptr) return fail(Status::internal, "a step reads a block that nothing was put into");
  Stream made;
  if (const Status s = pool_->take(codec::compress_bound(type_, count), &made.buffer); s != Status::ok) return s;
  Stopwatch watch(seconds_.compress);
  const Status s = codec::compress(type_, value.raw, count, spec_.eps, room(made.buffer), &made.size, options_);
  if (s == Status::ok) value.stream = std::move(made);
  return s;
}

Status Worker::unpack(const Stream& stream, std::byte* to, std::size_t count, std::uint32_t divisor) noexcept {
  Stopwatch watch(seconds_.decompress);
  return codec::decompress(stream.bytes(), to, count, options_, divisor);
}

// Memory to write the raw form of a cell to. A pool's buffer in *store is nobody else's, so it counts as fixed once written.
Status Worker::home(Cell& cell, std::byte** at, Buffer* store) noexcept {
  *at = cell.home;
  if (cell.home != nullptr) return Status::ok;
  const Status s = pool_->take(raw_bytes(cell.count), store);
  *at = store->data();
  return s;
}

// The stream rules where both are at hand: it is what the other ranks were sent.
Status Worker::make_raw(Cell& cell) noexcept {
  if (cell.value.stream) {
    std::byte* at = nullptr;
    Buffer store;
    if (const Status s = home(cell, &at, &store); s != Status::ok) return s;
    if (const Status s = unpack(cell.value.stream, at, cell.count); s != Status::ok) return s;
    cell.value.stream = {};
    set_raw(cell.value, at, static_cast<bool>(store));
    cell.value.raw_store = std::move(store);
    cell.value.settled = true;
  }
  if (cell.value.raw == nullptr) return fail(Status::internal, "a step reads a block that nothing was put into");
  return Status::ok;
}

Status Worker::pack(Cell& cell) noexcept {
  Value& value = cell.value;
  switch (spec_.kind) {
    case Kind::raw:
      if (value.raw == nullptr) return fail(Status::internal, "a step sends a block that nothing was put into");
      return Status::ok;
    case Kind::cprp2p:
      if (value.raw != nullptr) value.stream = {};
      return make_stream(value, cell.count);
    case Kind::doc:
    case Kind::homomorphic:
    case Kind::fused: return make_stream(value, cell.count);
  }
  return Status::internal;
}

// The stream stays at hand: others may be sent it.
Status Worker::pack_raw(Cell& cell, bool settle) noexcept {
  Value& value = cell.value;
  if (value.absent) {
    Buffer zeros;
    if (const Status s = pool_->take(raw_bytes(cell.count), &zeros); s != Status::ok) return s;
    std::memset(zeros.data(), 0, raw_bytes(cell.count));
    set_raw(value, zeros.data(), true);
    value.raw_store = std::move(zeros);
    return Status::ok;
  }
  if (value.raw != nullptr && (value.settled || !settle || !compressed())) return Status::ok;
  if (value.raw == nullptr && !value.stream)
    return fail(Status::internal, "a step sends a block that nothing was put into");
  if (const Status s = make_stream(value, cell.count); s != Status::ok) return s;
  const Stream stream = value.stream;
  if (const Status s = make_raw(cell); s != Status::ok) return s;
  value.stream = stream;
  return Status::ok;
}

void Worker::landed(Cell& dst) noexcept {
  dst.value.clear();
  dst.value.raw = dst.home;
  dst.value.settled = compressed();
}

void Worker::replace(Cell& dst, std::byte* arrived, const Buffer& store) noexcept {
  if (dst.home != nullptr) {
    std::memcpy(dst.home, arrived, raw_bytes(dst.count));
    landed(dst);
    return;
  }
  dst.value.clear();
  set_raw(dst.value, arrived, true);
  dst.value.raw_store = store;
  dst.value.settled = compressed();
}

Status Worker::replace(Cell& dst, Stream arrived) noexcept {
  dst.value.clear();
  if (!arrived) {
    dst.value.absent = true;
    return Status::ok;
  }
  dst.value.stream = std::move(arrived);
  return spec_.kind == Kind::cprp2p ? make_raw(dst) : Status::ok;
}

// Room for a sum without exceptions does nearly always; exact sums of many values off the grid, or a summand that the other's
// predictor does not suit, may take many times that.
Status Worker::add_raw(Value& value, const std::byte* x, std::size_t count) noexcept {
  codec::Info a, local;
  if (const Status s = codec::inspect(value.stream.bytes(), &a); s != Status::ok) return s;
  local = a;
  local.exceptions = 0;
  local.bytes = codec::compress_bound(type_, count);
  Stopwatch watch(seconds_.combine);
  Stream made;
  Status s = Status::buffer_too_small;
  for (const std::size_t bytes : {codec::combine_bound(a, local), codec::combine_bound(type_, count)}) {
    if (s != Status::buffer_too_small) break;
    if (const Status taken = pool_->take(bytes, &made.buffer); taken != Status::ok) return taken;
    s = codec::add_values(value.stream.bytes(), x, count, room(made.buffer), &made.size, options_);
  }
  if (s == Status::ok) value.stream = std::move(made);
  return s;
}

Status Worker::add_stream(Value& value, const Stream& other) noexcept {
  codec::Info a, b;
  if (const Status s = codec::inspect(value.stream.bytes(), &a); s != Status::ok) return s;
  if (const Status s = codec::inspect(other.bytes(), &b); s != Status::ok) return s;
  Stopwatch watch(seconds_.combine);
  Stream made;
  Status s = Status::buffer_too_small;
  for (const std::size_t bytes : {codec::combine_bound(a, b), codec::combine_bound(type_, a.count)}) {
    if (s != Status::buffer_too_small) break;
    if (const Status taken = pool_->take(bytes, &made.buffer); taken != Status::ok) return taken;
    s = codec::combine(combine_, value.stream.bytes(), other.bytes(), room(made.buffer), &made.size, options_);
  }
  if (s == Status::ok) value.stream = std::move(made);
  return s;
}

Status Worker::meet(Cell& dst, Stream arrived, bool arrived_first) noexcept {
  Value& value = dst.value;
  if (!arrived) return Status::ok;
  if (value.absent) return replace(dst, std::move(arrived));
  switch (spec_.kind) {
    case Kind::raw: return fail(Status::internal, "a stream met raw values");
    case Kind::cprp2p:
    case Kind::doc: {
      if (const Status s = make_raw(dst); s != Status::ok) return s;
      Buffer decoded;
      if (const Status s = pool_->take(raw_bytes(dst.count), &decoded); s != Status::ok) return s;
      if (const Status s = unpack(arrived, decoded.data(), dst.count); s != Status::ok) return s;
      return meet(dst, decoded.data(), decoded, arrived_first);
    }
    case Kind::fused:
      if (sums_ && !value.stream && value.raw != nullptr) {
        const std::byte* local = value.raw;
        const Buffer keep = value.raw_store;
        value.clear();
        value.stream = std::move(arrived);
        return add_raw(value, local, dst.count);
      }
      [[fallthrough]];
    case Kind::homomorphic: {
      if (const Status s = make_stream(value, dst.count); s != Status::ok) return s;
      value.raw = nullptr;
      value.raw_store = {};
      return add_stream(value, arrived);
    }
  }
  return Status::internal;
}

Status Worker::meet(Cell& dst, std::byte* arrived, const Buffer& store, bool arrived_first) noexcept {
  Value& value = dst.value;
  if (value.absent) {
    replace(dst, arrived, store);
    value.settled = false;
    return Status::ok;
  }
  if (value.raw == nullptr) {
    if (const Status s = make_raw(dst); s != Status::ok) return s;
  }
  Stopwatch watch(seconds_.combine);
  std::byte* at = nullptr;
  Buffer own;
  if (const Status s = home(dst, &at, &own); s != Status::ok) return s;
  if (spec_.op != Op::user) {
    const void* left = arrived_first ? arrived : value.raw;
    const void* right = arrived_first ? value.raw : arrived;
    if (const Status s = combine_values(spec_.op, spec_.type, left, right, at, dst.count); s != Status::ok) return s;
  } else if (arrived_first) {
    if (value.raw != at) std::memcpy(at, value.raw, raw_bytes(dst.count));
    spec_.user.function(arrived, at, dst.count, spec_.user.context);
  } else {
    // The function leaves its result where the message arrived; that becomes the value.
    spec_.user.function(value.raw, arrived, dst.count, spec_.user.context);
    at = arrived;
    own = store;
  }
  value.stream = {};
  set_raw(value, at, static_cast<bool>(own));
  value.raw_store = std::move(own);
  return Status::ok;
}

Status Worker::meet(Cell& dst, Cell& src, bool src_first) noexcept {
  if (src.value.absent) return Status::ok;
  if (dst.value.absent) return copy(dst, src);
  const bool both_raw = dst.value.raw != nullptr && src.value.raw != nullptr && !dst.value.stream && !src.value.stream;
  const bool codes = spec_.kind == Kind::homomorphic || spec_.kind == Kind::fused;
  if (codes && !(both_raw && mixes(spec_))) {
    // Raw local values join a stream in one pass if the payload allows it.
    if (spec_.kind == Kind::fused && sums_ && dst.value.stream && !src.value.stream && src.value.raw != nullptr) {
      dst.value.raw = nullptr;
      dst.value.raw_store = {};
      return add_raw(dst.value, src.value.raw, dst.count);
    }
    if (const Status s = make_stream(src.value, src.count); s != Status::ok) return s;
    return meet(dst, src.value.stream, src_first);
  }
  if (compressed() && !codes) {
    if (const Status s = make_raw(dst); s != Status::ok) return s;
    if (const Status s = make_raw(src); s != Status::ok) return s;
  }
  if (src.value.raw == nullptr) return fail(Status::internal, "a step combines a block that nothing was put into");
  if (spec_.op == Op::user && !src_first) {
    // The function writes its right operand, and src must stay as it is.
    Buffer right;
    if (const Status s = pool_->take(raw_bytes(src.count), &right); s != Status::ok) return s;
    std::memcpy(right.data(), src.value.raw, raw_bytes(src.count));
    return meet(dst, right.data(), right, false);
  }
  return meet(dst, const_cast<std::byte*>(src.value.raw), src.value.raw_store, src_first);
}

Status Worker::copy(Cell& dst, Cell& src) noexcept {
  if (&dst == &src) return Status::ok;
  dst.value.clear();
  dst.value.stream = src.value.stream;
  dst.value.absent = src.value.absent;
  if (src.value.raw == nullptr) return Status::ok;
  if (src.value.raw_fixed) {
    dst.value.raw = src.value.raw;
    dst.value.raw_store = src.value.raw_store;
    dst.value.raw_fixed = true;
    dst.value.settled = src.value.settled;
  } else if (!dst.value.stream) {
    std::byte* at = nullptr;
    Buffer store;
    if (const Status s = home(dst, &at, &store); s != Status::ok) return s;
    std::memcpy(at, src.value.raw, raw_bytes(src.count));
    set_raw(dst.value, at, static_cast<bool>(store));
    dst.value.raw_store = std::move(store);
    dst.value.settled = src.value.settled;
  }
  return Status::ok;
}

Status Worker::load(Cell& cell, const std::byte* const* inputs, std::size_t n, bool negate) noexcept {
  Value& value = cell.value;
  value.clear();
  const bool codes = spec_.kind == Kind::homomorphic || spec_.kind == Kind::fused;
  if (n == 0 && compressed()) {
    value.absent = true;
    return Status::ok;
  }
  if (codes && !negate) {
    set_raw(value, inputs[0], true);
    if (const Status s = n > 1 ? make_stream(value, cell.count) : Status::ok; s != Status::ok) return s;
    for (std::size_t j = 1; j < n; ++j) {
      value.raw = nullptr;
      if (sums_ && spec_.kind == Kind::fused) {
        if (const Status s = add_raw(value, inputs[j], cell.count); s != Status::ok) return s;
        continue;
      }
      Value next;
      set_raw(next, inputs[j], true);
      if (const Status s = make_stream(next, cell.count); s != Status::ok) return s;
      if (const Status s = add_stream(value, next.stream); s != Status::ok) return s;
    }
    return Status::ok;
  }
  Buffer own;
  if (const Status s = pool_->take(raw_bytes(cell.count), &own); s != Status::ok) return s;
  Stopwatch watch(seconds_.combine);
  if (n == 0) std::memset(own.data(), 0, raw_bytes(cell.count));
  if (n == 1 && !negate) std::memcpy(own.data(), inputs[0], raw_bytes(cell.count));
  if (negate) {
    if (const Status s = negate_values(spec_.type, inputs[0], own.data(), cell.count); s != Status::ok) return s;
  }
  for (std::size_t j = 1; j < n; ++j) {
    const void* left = j == 1 ? inputs[0] : own.data();
    if (const Status s = combine_values(spec_.op, spec_.type, left, inputs[j], own.data(), cell.count); s != Status::ok)
      return s;
  }
  set_raw(value, own.data(), true);
  value.raw_store = std::move(own);
  return Status::ok;
}

Status Worker::finish(Cell& cell, bool from_stream, std::uint32_t divisor) noexcept {
  Value& value = cell.value;
  const std::size_t bytes = raw_bytes(cell.count);
  if (divisor > 1 && mixes(spec_)) {
    if (const Status s = finish(cell, from_stream, 1); s != Status::ok) return s;
    return divide_values(spec_.type, cell.home, cell.count, divisor);
  }
  if (value.absent) {
    std::memset(cell.home, 0, bytes);
    return Status::ok;
  }
  // Under cprp2p what was decoded and forwarded is at hand already; means are left to the codec, which rounds once.
  const bool done = value.raw != nullptr && value.settled && divisor <= 1;
  if (compressed() && !done && (from_stream || value.raw == nullptr)) {
    if (const Status s = make_stream(value, cell.count); s != Status::ok) return s;
    return unpack(value.stream, cell.home, cell.count, divisor);
  }
  if (value.raw == nullptr) return fail(Status::internal, "a result block that nothing was put into");
  if (value.raw != cell.home) std::memcpy(cell.home, value.raw, bytes);
  return divisor > 1 ? divide_values(spec_.type, cell.home, cell.count, divisor) : Status::ok;
}

}  // namespace stretto::payload
