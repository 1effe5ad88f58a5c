// Property: an output of any size is never written past; the call says that it is too small, or gives the very stream that a large one gets.
#include <cmath>

#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

template <class F>
void at_any_size(std::size_t bound, std::size_t choice, F f) {
  Stream whole(bound);
  std::size_t length = 0;
  const Status wanted = f(MutableBytes(whole), &length, with(Isa::reference));
  if (wanted != Status::ok) return;
  whole.resize(length);
  std::vector<Isa> all = fast_isas();
  all.push_back(Isa::reference);
  for (const Isa isa : all)
    for (const std::size_t room :
         {choice % (length + 1), length - std::min(length, choice % 37), length, length + choice % 5000}) {
      Stream out(room);
      std::size_t written = 0;
      const Status s = f(MutableBytes(out), &written, choice & 0x100 ? in_parts(isa) : with(isa));
      require(s == (room < length ? Status::buffer_too_small : Status::ok), "too small is refused, and only that");
      if (s != Status::ok) continue;
      out.resize(written);
      require(out == whole, "the same stream whatever the room");
    }
}

template <class T>
void small_output(Type t, Blob& blob) {
  double eps = std::fabs(blob.take<float>());
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const auto choice = blob.take<std::uint16_t>();
  const auto x = values<T>(blob);
  std::vector<T> y(x.rbegin(), x.rend());
  const std::size_t n = x.size(), bound = combine_bound(t, n);
  Stream a(compress_bound(t, n)), b(compress_bound(t, n));
  std::size_t wa = 0, wb = 0;
  require(compress(t, x.data(), n, eps, a, &wa) == Status::ok && compress(t, y.data(), n, eps, b, &wb) == Status::ok,
          "compress succeeds");
  a.resize(wa);
  b.resize(wb);
  switch (choice % 6) {
    case 0:
      return at_any_size(compress_bound(t, n), choice, [&](MutableBytes out, std::size_t* w, const Options& o) {
        return compress(t, x.data(), n, eps, out, w, o);
      });
    case 1:
      return at_any_size(bound, choice, [&](MutableBytes out, std::size_t* w, const Options& o) {
        return add_values(a, y.data(), n, out, w, o);
      });
    case 2:
      return at_any_size(bound, choice, [&](MutableBytes out, std::size_t* w, const Options& o) {
        return combine(Combine::subtract, a, b, out, w, o);
      });
    case 3:
      return at_any_size(bound, choice, [&](MutableBytes out, std::size_t* w, const Options& o) {
        return combine(Combine::max, a, b, out, w, o);
      });
    case 4:
      return at_any_size(bound, choice,
                         [&](MutableBytes out, std::size_t* w, const Options& o) { return scale(a, -3, out, w, o); });
    case 5:
      return at_any_size(bound, choice, [&](MutableBytes out, std::size_t* w, const Options& o) {
        return slice(a, n / 3, n / 2, out, w, o);
      });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  if (blob.take<std::uint8_t>() & 1)
    small_output<double>(Type::f64, blob);
  else
    small_output<float>(Type::f32, blob);
  return 0;
}
