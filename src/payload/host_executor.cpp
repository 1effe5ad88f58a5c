#include "payload/host_executor.hpp"

#include <cstring>

#include "payload/arithmetic/arithmetic.hpp"
#include "payload/stopwatch.hpp"

namespace stretto::payload {
namespace {

codec::MutableBytes room(const Buffer& buffer) noexcept { return {buffer.data(), buffer.capacity()}; }

}  // namespace

void HostExecutor::begin(const Spec& spec, Pool* pool, const codec::Parallel* parallel) noexcept {
  type_ = codec_type(spec.type).value_or(codec::Type::f32);
  halves_ = traits(spec.kind).form == Form::halves;
  options_ = {};
  options_.checksum = spec.checksum;
  options_.coding = spec.coding;
  options_.magnitude = spec.magnitude;
  options_.parallel = parallel;
  only_.pool = pool;
  enter(only_);
  seconds = {};
}

Status HostExecutor::compress(const std::byte* x, std::size_t count, double eps, Stream* made) noexcept {
  Stream stream;
  const std::size_t most = halves_ ? count * kHalfBytes : codec::compress_bound(type_, count);
  if (const Status s = pool().take(most, &stream.buffer); s != Status::ok) return s;
  Stopwatch watch(seconds.compress);
  if (halves_) {
    narrow_values(x, stream.buffer.data(), count);
    stream.size = most;
    *made = std::move(stream);
    return Status::ok;
  }
  const Status s = codec::compress(type_, x, count, eps, room(stream.buffer), &stream.size, options_);
  if (s == Status::ok) *made = std::move(stream);
  return s;
}

Status HostExecutor::decompress(const Stream& stream, std::byte* y, std::size_t count, std::uint32_t divisor) noexcept {
  Stopwatch watch(seconds.decompress);
  if (halves_) {
    widen_values(stream.bytes().data(), y, count);
    return divisor > 1 ? payload::divide_values(Type::f32, y, count, divisor) : Status::ok;
  }
  return codec::decompress(stream.bytes(), y, count, options_, divisor);
}

// combine_bound(a, b) suffices for most sums without exceptions; others may take many times that, up
// to the type's bound.
template <class Sum>
Status HostExecutor::sum(const codec::Info& a, const codec::Info& b, const Sum& sum, Stream* made) noexcept {
  Stopwatch watch(seconds.combine);
  Stream stream;
  Status s = Status::buffer_too_small;
  for (const std::size_t bytes : {codec::combine_bound(a, b), codec::combine_bound(type_, a.count)}) {
    if (s != Status::buffer_too_small) break;
    if (const Status taken = pool().take(bytes, &stream.buffer); taken != Status::ok) return taken;
    s = sum(room(stream.buffer), &stream.size);
  }
  if (s == Status::ok) *made = std::move(stream);
  return s;
}

Status HostExecutor::add_values(const Stream& a, const Buffer&, const std::byte* x, std::size_t count,
                                Stream* made) noexcept {
  codec::Info info;
  if (const Status s = codec::inspect(a.bytes(), &info); s != Status::ok) return s;
  codec::Info local = info;
  local.exceptions = 0;
  local.bytes = codec::compress_bound(type_, count);
  return sum(
      info, local,
      [&](codec::MutableBytes out, std::size_t* size) {
        return codec::add_values(a.bytes(), x, count, out, size, options_);
      },
      made);
}

Status HostExecutor::combine(codec::Combine op, const Stream& a, const Stream& b, std::size_t, Stream* made) noexcept {
  codec::Info left, right;
  if (const Status s = codec::inspect(a.bytes(), &left); s != Status::ok) return s;
  if (const Status s = codec::inspect(b.bytes(), &right); s != Status::ok) return s;
  return sum(
      left, right,
      [&](codec::MutableBytes out, std::size_t* size) {
        return codec::combine(op, a.bytes(), b.bytes(), out, size, options_);
      },
      made);
}

Status HostExecutor::combine_values(Op op, Type type, const void* left, const void* right, void* out,
                                    std::size_t count) noexcept {
  return payload::combine_values(op, type, left, right, out, count);
}

Status HostExecutor::negate_values(Type type, const void* in, void* out, std::size_t count) noexcept {
  return payload::negate_values(type, in, out, count);
}

Status HostExecutor::divide_values(Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept {
  return payload::divide_values(type, values, count, divisor);
}

Status HostExecutor::copy(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  return Status::ok;
}

Status HostExecutor::clear(void* to, std::size_t bytes) noexcept {
  std::memset(to, 0, bytes);
  return Status::ok;
}

}  // namespace stretto::payload
