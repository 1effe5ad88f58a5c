#include "support.hpp"

namespace stretto::codec {
namespace {

template <class F>
Stream made(std::size_t bound, F f) {
  Stream out(bound, before());
  std::size_t written = 0;
  EXPECT_EQ(f(MutableBytes(out), &written), Status::ok) << message();
  EXPECT_LE(written, bound);
  out.resize(written);
  return out;
}

}  // namespace

const std::vector<Isa>& isas() {
  static const std::vector<Isa> found = [] {
    std::vector<Isa> v{Isa::reference};
    for (const Isa isa : {Isa::portable, Isa::avx512, Isa::best}) {
      double lo = 0, hi = 0;
      if (value_range(Type::f32, nullptr, 0, &lo, &hi, with(isa)) != Status::unsupported) v.push_back(isa);
    }
    return v;
  }();
  return found;
}

Stream compress_raw(Type t, const void* x, std::size_t n, double eps, const Options& options) {
  return made(compress_bound(t, n),
              [&](MutableBytes out, std::size_t* written) { return compress(t, x, n, eps, out, written, options); });
}

Stream combined(Combine op, const Stream& a, const Stream& b, const Options& options) {
  return made(combine_bound(info_of(a), info_of(b)),
              [&](MutableBytes out, std::size_t* written) { return combine(op, a, b, out, written, options); });
}

Stream with_values(const Stream& a, const void* x, std::size_t n, const Options& options) {
  const std::size_t bound = combine_bound(info_of(a).type, n);
  return made(bound,
              [&](MutableBytes out, std::size_t* written) { return add_values(a, x, n, out, written, options); });
}

Stream scaled(const Stream& a, std::int32_t k, const Options& options) {
  const Info info = info_of(a);
  return made(combine_bound(info.type, info.count),
              [&](MutableBytes out, std::size_t* written) { return scale(a, k, out, written, options); });
}

Stream sliced(const Stream& a, std::uint64_t first, std::size_t n, const Options& options) {
  return made(combine_bound(info_of(a).type, n),
              [&](MutableBytes out, std::size_t* written) { return slice(a, first, n, out, written, options); });
}

Stream joined(const Stream& a, const Stream& b, const Options& options) {
  const Info info = info_of(a);
  return made(combine_bound(info.type, info.count + info_of(b).count),
              [&](MutableBytes out, std::size_t* written) { return concatenate(a, b, out, written, options); });
}

Info info_of(const Stream& a) {
  Info info;
  EXPECT_EQ(inspect(a, &info), Status::ok) << message();
  return info;
}

}  // namespace stretto::codec
