// Property: for any values and bound, each decoded value is within the bound in exact arithmetic (halves: plus half a
// unit in their last place) or equal bit for bit; integers are equal. The stream is valid and within its size bound.
// Every instruction set writes the same stream and reads the same values, in one part or two. With a checksum, a stream
// with a flipped bit is refused.
#include <cmath>

#include "bounds.hpp"
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

void require_refused_when_flipped(Stream s, std::size_t choice) {
  s[choice / 8 % s.size()] ^= std::byte{1} << (choice % 8);
  Info info;
  require(inspect(s, &info) != Status::ok || validate(s) != Status::ok, "a checksum tells one flipped bit");
}

template <class T>
void round_trip(Type t, bool checksum, Blob& blob) {
  double eps = std::fabs(blob.take<double>());
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const double magnitude = std::fabs(blob.take<float>());
  const std::size_t flipped = checksum ? blob.take<std::uint16_t>() : 0;
  const auto x = values<T>(blob);
  Options o = with(Isa::reference, checksum);
  o.magnitude = std::isfinite(magnitude) ? magnitude : 0;
  Stream s(compress_bound(t, x.size()));
  std::size_t written = 0;
  require(compress(t, x.data(), x.size(), eps, s, &written, o) == Status::ok,
          "compress succeeds within compress_bound");
  s.resize(written);
  s.shrink_to_fit();
  require(validate(s) == Status::ok, "compress writes valid streams");
  if (checksum) require_refused_when_flipped(s, flipped);
  std::vector<T> y(x.size());
  require(decompress(s, y.data(), y.size(), o) == Status::ok, "what was compressed decompresses");
  for (std::size_t i = 0; i < x.size(); ++i)
    require(same_bits(x[i], y[i]) || kept(t, x[i], y[i], eps), "the bound holds");
  // A fixed stream of the groups that the dense one has.
  o.orders = Coding::dense;
  Stream grouped(compress_bound(t, x.size()));
  require(compress(t, x.data(), x.size(), eps, grouped, &written, o) == Status::ok, "of any orders");
  o.coding = Coding::dense;
  Stream dense(written);
  require(compress(t, x.data(), x.size(), eps, dense, &written, o) == Status::ok,
          "a dense stream is no longer than a fixed one");
  dense.resize(written);
  require(validate(dense) == Status::ok, "dense streams are valid");
  for (const Isa isa : fast_isas()) {
    o = in_parts(isa, checksum);
    o.magnitude = std::isfinite(magnitude) ? magnitude : 0;
    o.coding = Coding::dense;
    Stream again(compress_bound(t, x.size()));
    require(compress(t, x.data(), x.size(), eps, again, &written, o) == Status::ok,
            "dense compression succeeds on every instruction set");
    again.resize(written);
    require(again == dense, "one dense stream on every instruction set");
    std::vector<T> z(x.size());
    require(decompress(dense, z.data(), z.size(), o) == Status::ok, "dense streams decompress");
    require(x.empty() || std::memcmp(y.data(), z.data(), y.size() * sizeof(T)) == 0,
            "dense streams have the values of fixed ones");
  }
  for (const Isa isa : fast_isas()) {
    o = in_parts(isa, checksum);
    o.magnitude = std::isfinite(magnitude) ? magnitude : 0;
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
  of_chosen_type(blob,
                 [&](auto value, Type type, bool checksum) { round_trip<decltype(value)>(type, checksum, blob); });
  return 0;
}
