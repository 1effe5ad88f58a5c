// Property: for any values, shape, bound and marks, a shaped stream keeps each value within the bound in exact
// arithmetic (halves: plus half a unit in their last place) or bit for bit, and marks always so; integers are equal.
// The stream is valid and within its size bound. Every instruction set writes the same stream and reads the same
// values.
#include <cmath>

#include "bounds.hpp"
#include "codec/shape/shape.hpp"
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

// Up to three slower axes; the last one has what is left. At least as many values as the product are there.
Shape shape_of(std::size_t count, Blob& blob) {
  Shape shape;
  const int slower = blob.take<std::uint8_t>() % 4;
  std::size_t left = count;
  for (int k = 0; k < slower; ++k) {
    const std::size_t extent =
        std::min<std::size_t>(1 + blob.take<std::uint8_t>() % 64, std::max<std::size_t>(left, 1));
    shape.extent[shape.axes++] = extent;
    left /= extent;
  }
  shape.extent[shape.axes++] = left;
  return shape;
}

template <class T>
void round_trip(Type t, bool checksum, Blob& blob) {
  double eps = std::fabs(blob.take<double>());
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  const double mark = blob.take<float>();
  const std::size_t room_for_shape = 5;
  Blob of_shape = blob;
  for (std::size_t i = 0; i < room_for_shape; ++i) blob.take<std::uint8_t>();
  auto x = values<T>(blob);
  const Shape shape = shape_of(x.size(), of_shape);
  std::size_t n = 1;
  for (int k = 0; k < shape.axes; ++k) n *= static_cast<std::size_t>(shape.extent[k]);
  x.resize(n);
  Options o = with(Isa::reference, checksum);
  if (std::isfinite(mark)) o.marks = {&mark, 1};
  Stream s(compress_bound(t, n));
  std::size_t written = 0;
  require(compress_shaped(t, x.data(), shape, eps, s, &written, o) == Status::ok,
          "a shaped stream fits in compress_bound");
  s.resize(written);
  s.shrink_to_fit();
  require(validate(s) == Status::ok, "shaped streams are valid");
  std::vector<T> y(n);
  require(decompress(s, y.data(), n, o) == Status::ok, "shaped streams decompress");
  for (std::size_t i = 0; i < n; ++i)
    require(same_bits(x[i], y[i]) || kept(t, x[i], y[i], eps), "the bound holds in shaped streams");
  if constexpr (std::is_floating_point_v<T>)
    for (std::size_t i = 0; i < n && std::isfinite(mark); ++i)
      require((x[i] == static_cast<T>(mark)) == (y[i] == static_cast<T>(mark)),
              "marks stay, and no other value is one");
  for (const Isa isa : fast_isas()) {
    Options fast = in_parts(isa, checksum);
    fast.marks = o.marks;
    Stream again(compress_bound(t, n));
    require(compress_shaped(t, x.data(), shape, eps, again, &written, fast) == Status::ok,
            "shaped compression succeeds on every instruction set");
    again.resize(written);
    require(again == s, "one shaped stream on every instruction set");
    std::vector<T> z(n);
    require(decompress(s, z.data(), n, fast) == Status::ok, "shaped streams decompress on every instruction set");
    require(n == 0 || std::memcmp(y.data(), z.data(), n * sizeof(T)) == 0,
            "shaped streams have the same values on every instruction set");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  of_chosen_type(blob,
                 [&](auto value, Type type, bool checksum) { round_trip<decltype(value)>(type, checksum, blob); });
  return 0;
}
