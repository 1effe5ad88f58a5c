// Property: whatever the values and the bound, each decoded value is within the bound in exact arithmetic or equal bit for bit; the stream is valid
// and within its size; every instruction set writes the same stream and reads the same values.
#include <cmath>

#include "../codec/exactly.hpp"
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

template <class T>
void round_trip(Type t, Blob& blob) {
  double eps = std::fabs(blob.take<double>());
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const double magnitude = std::fabs(blob.take<float>());
  const auto x = values<T>(blob);
  Options o = with(Isa::reference);
  o.magnitude = std::isfinite(magnitude) ? magnitude : 0;
  Stream s(compress_bound(t, x.size()));
  std::size_t written = 0;
  require(compress(t, x.data(), x.size(), eps, s, &written, o) == Status::ok,
          "compress succeeds within compress_bound");
  s.resize(written);
  s.shrink_to_fit();
  require(validate(s) == Status::ok, "compress writes valid streams");
  std::vector<T> y(x.size());
  require(decompress(s, y.data(), y.size(), o) == Status::ok, "what was compressed decompresses");
  for (std::size_t i = 0; i < x.size(); ++i)
    require(same_bits(x[i], y[i]) || (std::isfinite(x[i]) && std::isfinite(y[i]) && within(x[i], y[i], eps)),
            "the bound holds");
  for (const Isa isa : fast_isas()) {
    o.isa = isa;
    Stream again(compress_bound(t, x.size()));
    require(compress(t, x.data(), x.size(), eps, again, &written, o) == Status::ok,
            "compress succeeds on every instruction set");
    again.resize(written);
    require(again == s, "one stream on every instruction set");
    std::vector<T> z(x.size());
    require(decompress(s, z.data(), z.size(), o) == Status::ok, "decompress succeeds on every instruction set");
    require(x.empty() || std::memcmp(y.data(), z.data(), y.size() * sizeof(T)) == 0,
            "the same values on every instruction set");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  if (blob.take<std::uint8_t>() & 1)
    round_trip<double>(Type::f64, blob);
  else
    round_trip<float>(Type::f32, blob);
  return 0;
}
