// Shared by the fuzz targets of the codec.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "codec/codec.hpp"
#include "require.hpp"

namespace stretto::codec {

using Stream = std::vector<std::byte>;

// Instruction sets of this machine but the reference.
inline const std::vector<Isa>& fast_isas() {
  static const std::vector<Isa> found = [] {
    std::vector<Isa> v;
    double lo = 0, hi = 0;
    for (const Isa isa : {Isa::portable, Isa::avx512}) {
      Options o;
      o.isa = isa;
      if (value_range(Type::f32, nullptr, 0, &lo, &hi, o) != Status::unsupported) v.push_back(isa);
    }
    return v;
  }();
  return found;
}

inline Options with(Isa isa, bool checksum = false) {
  Options o;
  o.isa = isa;
  o.checksum = checksum;
  return o;
}

// Work in two parts, where there are several chunks, one after the other.
inline Options in_parts(Isa isa, bool checksum = false) {
  static const Parallel two{2,
                            [](void*, int n, void (*task)(void*, int), void* arg) {
                              for (int i = n; i-- > 0;) task(arg, i);
                            },
                            nullptr};
  Options o = with(isa, checksum);
  o.parallel = &two;
  return o;
}

// Takes numbers off the front of the fuzzer's bytes; zeros when they are used up.
class Blob {
 public:
  Blob(const std::uint8_t* p, std::size_t n) : p_(p), left_(n) {}
  template <class T>
  T take() {
    T v{};
    const std::size_t n = std::min(sizeof v, left_);
    if (n) std::memcpy(&v, p_, n);
    p_ += n;
    left_ -= n;
    return v;
  }
  std::size_t left() const { return left_; }
  // A copy of exactly n bytes, so that reading past them is seen.
  Stream bytes(std::size_t n) {
    n = std::min(n, left_);
    Stream s(n);
    if (n) std::memcpy(s.data(), p_, n);
    p_ += n;
    left_ -= n;
    return s;
  }

 private:
  const std::uint8_t* p_;
  std::size_t left_;
};

// The first byte selects the type and the checksum: calls f with a value of the type in memory, its Type, and the
// checksum flag.
template <class F>
void of_chosen_type(Blob& blob, const F& f) {
  const auto choice = blob.take<std::uint8_t>();
  const bool checksum = choice & 8;
  switch (choice & 7) {
    case 1:
    case 3: return f(double{}, Type::f64, checksum);
    case 4: return f(std::int32_t{}, Type::i32, checksum);
    case 5: return f(std::int64_t{}, Type::i64, checksum);
    case 6: return f(std::uint16_t{}, Type::f16, checksum);
    case 7: return f(std::uint16_t{}, Type::bf16, checksum);
    default: return f(float{}, Type::f32, checksum);
  }
}

// Values for compressing: the rest of the blob, repeated up to a count that it chooses, so that small inputs have full
// groups, which the fast kernels need. Some inputs have more than one chunk, unless `most` forbids it. Optionally as a
// smooth curve through the values.
template <class T>
std::vector<T> values(Blob& blob, std::size_t most = 70000) {
  std::size_t count = blob.take<std::uint16_t>() % std::min<std::size_t>(3000, most);
  const auto shape = blob.take<std::uint8_t>();
  if (shape >= 0xf8 && most > 65536) count += 65536;
  std::vector<T> seed(std::max<std::size_t>(1, blob.left() / sizeof(T)));
  for (auto& v : seed) v = blob.take<T>();
  std::vector<T> x(count);
  T sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&x[i], &seed[i % seed.size()], sizeof(T));
    if (shape % 4 == 1) x[i] = sum = static_cast<T>(sum / 2 + x[i] / 4);
    if (shape % 4 == 2) {
      if constexpr (std::is_integral_v<T>)
        x[i] = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x[i]) + i);
      else
        x[i] += static_cast<T>(i);
    }
    if (shape % 4 == 3 && i >= seed.size()) x[i] = x[i - 1];
  }
  return x;
}

}  // namespace stretto::codec
