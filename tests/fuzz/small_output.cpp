// Property: no call writes past an output of any size; it reports that the output is too small, or gives the same
// stream as with a large output, with a checksum or without.
#include <cmath>

#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

template <class F>
void at_any_size(std::size_t bound, std::size_t choice, F f) {
  const bool parts = choice & 0x100, checksum = choice & 0x200;
  Stream whole(bound);
  std::size_t length = 0;
  const Status wanted = f(MutableBytes(whole), &length, with(Isa::reference, checksum));
  require(wanted != Status::buffer_too_small, "the bound of the size suffices");
  if (wanted != Status::ok) return;
  whole.resize(length);
  std::vector<Isa> all = fast_isas();
  all.push_back(Isa::reference);
  const Isa isa = all[(choice >> 10) % all.size()];
  for (const std::size_t room :
       {choice % (length + 1), length - std::min(length, choice % 37), length, length + choice % 5000}) {
    Stream out(room);
    std::size_t written = 0;
    const Status s = f(MutableBytes(out), &written, parts ? in_parts(isa, checksum) : with(isa, checksum));
    require(s == (room < length ? Status::buffer_too_small : Status::ok), "too small is refused, and only that");
    if (s != Status::ok) continue;
    out.resize(written);
    require(out == whole, "the same stream whatever the room");
  }
}

template <class T>
Stream stream_of(Type t, const std::vector<T>& x, double eps) {
  Stream s(compress_bound(t, x.size()));
  std::size_t written = 0;
  require(compress(t, x.data(), x.size(), eps, s, &written) == Status::ok, "compress succeeds");
  s.resize(written);
  return s;
}

template <class T>
void small_output(Type t, Blob& blob) {
  double eps = std::fabs(blob.take<float>());
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const auto choice = blob.take<std::uint16_t>();
  const auto x = values<T>(blob);
  const std::vector<T> y(x.rbegin(), x.rend());
  const std::size_t n = x.size();
  const Stream a = stream_of(t, x, eps), b = stream_of(t, y, eps);
  const auto run = [&](std::size_t bound, auto f) { at_any_size(bound, choice, f); };
  const auto combined = [&](Combine op) {
    run(combine_bound(t, n), [&](auto... to) { return combine(op, a, b, to...); });
  };
  switch (choice % 9) {
    case 0: return run(compress_bound(t, n), [&](auto... to) { return compress(t, x.data(), n, eps, to...); });
    case 1: return run(combine_bound(t, n), [&](auto... to) { return add_values(a, y.data(), n, to...); });
    case 2: return combined(Combine::add);
    case 3: return combined(Combine::subtract);
    case 4: return combined(Combine::min);
    case 5: return combined(Combine::max);
    case 6: return run(combine_bound(t, n), [&](auto... to) { return scale(a, -3, to...); });
    case 7: return run(combine_bound(t, n / 2), [&](auto... to) { return slice(a, n / 3, n / 2, to...); });
    case 8: return run(combine_bound(t, 2 * n), [&](auto... to) { return concatenate(a, b, to...); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  switch (blob.take<std::uint8_t>() & 7) {
    case 1:
    case 5: small_output<double>(Type::f64, blob); break;
    case 2: small_output<std::int32_t>(Type::i32, blob); break;
    case 3: small_output<std::int64_t>(Type::i64, blob); break;
    case 6: small_output<std::uint16_t>(Type::f16, blob); break;
    case 7: small_output<std::uint16_t>(Type::bf16, blob); break;
    default: small_output<float>(Type::f32, blob);
  }
  return 0;
}
