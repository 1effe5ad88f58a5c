// Property: combining any two streams, valid or not, yields an error or a stream, accesses nothing outside the buffers,
// and is equal on every instruction set. Valid streams give a valid stream, with a checksum if requested, independent
// of the operands' order.
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

// The result of an operation on the reference, after every other instruction set gave the same.
template <class F>
bool agreed(std::size_t room, bool checksum, F f, Stream* result) {
  std::size_t written = 0;
  result->assign(room, std::byte{0});
  const Status wanted = f(MutableBytes(*result), &written, with(Isa::reference, checksum));
  result->resize(wanted == Status::ok ? written : 0);
  for (const Isa isa : fast_isas()) {
    Stream other(room);
    require(f(MutableBytes(other), &written, in_parts(isa, checksum)) == wanted,
            "the same status on every instruction set");
    if (wanted != Status::ok) continue;
    other.resize(written);
    require(other == *result, "the same stream on every instruction set");
  }
  return wanted == Status::ok;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  const auto choice = blob.take<std::uint16_t>();
  const std::size_t cut = choice & 0x7fff;
  const bool checksum = choice & 0x8000;
  const Stream a = blob.bytes(cut), b = blob.bytes(blob.left());
  Info ia, ib;
  constexpr std::uint64_t kMost = 68000;  // two chunks
  if (inspect(a, &ia) != Status::ok || inspect(b, &ib) != Status::ok || ia.count > kMost || ib.count > kMost) return 0;
  const bool valid = validate(a) == Status::ok && validate(b) == Status::ok;
  const std::size_t room = combine_bound(ia.type, ia.count) + combine_bound(ib.type, ib.count);
  Stream r, swapped;
  for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
    const auto call = [&](MutableBytes out, std::size_t* w, const Options& o) { return combine(op, a, b, out, w, o); };
    const bool made = agreed(room, checksum, call, &r);
    require(!made || !valid || validate(r) == Status::ok, "valid streams combine to valid ones");
    Info combined;
    require(!made || (inspect(r, &combined) == Status::ok && combined.checksum == checksum),
            "a checksum where asked for");
    if (op == Combine::subtract || !valid) continue;
    require(agreed(
                room, checksum,
                [&](MutableBytes out, std::size_t* w, const Options& o) { return combine(op, b, a, out, w, o); },
                &swapped) == made,
            "order does not matter for the status");
    if (!made) continue;
    require(r == swapped, "the order of two streams does not matter");
  }
  agreed(
      room, checksum, [&](MutableBytes out, std::size_t* w, const Options& o) { return scale(a, -3, out, w, o); }, &r);
  agreed(
      room, checksum,
      [&](MutableBytes out, std::size_t* w, const Options& o) {
        return slice(a, ia.count / 3, ia.count / 2, out, w, o);
      },
      &r);
  agreed(
      room, checksum, [&](MutableBytes out, std::size_t* w, const Options& o) { return concatenate(a, b, out, w, o); },
      &r);
  Stream x(ia.count * size_of(ia.type));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = b[i % b.size()];
  agreed(
      room, checksum,
      [&](MutableBytes out, std::size_t* w, const Options& o) { return add_values(a, x.data(), ia.count, out, w, o); },
      &r);
  return 0;
}
