#include "node/collectives/coder.hpp"

#include <algorithm>

#include "node/group/lines.hpp"
#include "payload/stopwatch.hpp"

namespace stretto::node {
namespace {

codec::Combine combine_of(payload::Op op) noexcept {
  if (op == payload::Op::min) return codec::Combine::min;
  if (op == payload::Op::max) return codec::Combine::max;
  return codec::Combine::add;
}

}  // namespace

using payload::Stopwatch;

Coder::Coder(const payload::Spec& spec, payload::Pool& pool, StreamCounts& streamed) noexcept
    : spec_(spec),
      pool_(pool),
      streamed_(streamed),
      type_(payload::codec_type(spec.type).value_or(codec::Type::f32)),
      combine_(combine_of(spec.op)),
      size_(payload::size_of(spec.type)) {
  options_.magnitude = spec.magnitude;
  options_.checksum = spec.checksum;
  options_.coding = codec::Coding::fixed;
}

std::size_t Coder::room(std::size_t count) const noexcept {
  return (std::max(codec::compress_bound(type_, count), bytes(count)) + kLine - 1) / kLine * kLine;
}

void Coder::count(std::size_t raw, std::size_t travelled) noexcept {
  streamed_.raw_bytes += raw;
  streamed_.stream_bytes += travelled;
}

Status Coder::compress(const std::byte* values, std::size_t n, codec::MutableBytes to) noexcept {
  const Stopwatch watch(streamed_.seconds.compress);
  std::size_t written = 0;
  const Status s = codec::compress(type_, values, n, spec_.eps, to, &written, options_);
  count(bytes(n), written);
  return s;
}

Status Coder::decode(codec::Bytes stream, std::byte* to, std::size_t n, std::uint32_t divisor) noexcept {
  const Stopwatch watch(streamed_.seconds.decompress);
  return codec::decompress(stream, to, n, options_, divisor);
}

// In `to`, else in pool memory: of the usual size, then of the largest.
template <class Make>
Status Coder::make(codec::MutableBytes to, std::size_t usual, std::size_t most, const Make& make, Sum* made) noexcept {
  std::size_t written = 0;
  if (!to.empty()) {
    const Status s = make(to, &written);
    if (s != Status::buffer_too_small) {
      *made = {to.first(written), {}};
      return s;
    }
  }
  Status s = Status::buffer_too_small;
  for (const std::size_t bytes : {usual, most}) {
    if (s != Status::buffer_too_small) break;
    payload::Buffer store;
    if (const Status taken = pool_.take(bytes, &store); taken != Status::ok) return taken;
    s = make({store.data(), store.capacity()}, &written);
    *made = {{store.data(), written}, std::move(store)};
  }
  return s;
}

// Fused: own values join the first stream. Otherwise they are compressed first.
Status Coder::sum(const std::byte* own, std::span<const codec::Bytes> others, std::size_t n, codec::MutableBytes to,
                  Sum* sum) noexcept {
  const std::size_t most = codec::combine_bound(type_, n), one = codec::compress_bound(type_, n);
  const bool fuses = payload::traits(spec_.kind).fuses && combine_ == codec::Combine::add && !others.empty();
  const auto place = [&](bool last) { return last ? to : codec::MutableBytes(); };
  Sum left;
  Status s = Status::ok;
  if (fuses) {
    left.stream = others.front();
    others = others.subspan(1);
    codec::Info a;
    if (s = codec::inspect(left.stream, &a); s != Status::ok) return s;
    codec::Info b = a;
    b.exceptions = 0;
    b.bytes = one;
    const Stopwatch watch(streamed_.seconds.combine);
    s = make(
        place(others.empty()), codec::combine_bound(a, b), most,
        [&](codec::MutableBytes out, std::size_t* written) {
          return codec::add_values(left.stream, own, n, out, written, options_);
        },
        sum);
  } else {
    const Stopwatch watch(streamed_.seconds.compress);
    s = make(
        place(others.empty()), one, one,
        [&](codec::MutableBytes out, std::size_t* written) {
          return codec::compress(type_, own, n, spec_.eps, out, written, options_);
        },
        sum);
  }
  for (; s == Status::ok && !others.empty(); others = others.subspan(1)) {
    left = std::move(*sum);
    codec::Info a, b;
    if (s = codec::inspect(left.stream, &a); s != Status::ok) return s;
    if (s = codec::inspect(others.front(), &b); s != Status::ok) return s;
    const Stopwatch watch(streamed_.seconds.combine);
    s = make(
        place(others.size() == 1), codec::combine_bound(a, b), most,
        [&](codec::MutableBytes out, std::size_t* written) {
          return codec::combine(combine_, left.stream, others.front(), out, written, options_);
        },
        sum);
  }
  return s;
}

}  // namespace stretto::node
