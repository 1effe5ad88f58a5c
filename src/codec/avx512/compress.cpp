// Groups of unchecked codes of a range of 14 bits, with one value for all missing places; groups of fewer values, with
// codes of 32 bits too.
#include <algorithm>
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/filled.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/quantise.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

template <class Between>
STRETTO_INLINE std::size_t encode_far(const Quantised& found, std::int16_t* q, Coding orders, PrefetchCursor ahead,
                                      std::uint8_t* out, Between between) noexcept {
  from_least(found, q);
  return choose_far_order16(q, orders) == 1 ? encode<Predictor::first>(q, ahead, out, between, found.least)
                                            : encode<Predictor::second>(q, ahead, out, between, found.least);
}

template <class T>
__attribute__((noinline)) std::size_t compress_beyond16(const T* x, const Grid<T>& grid, const Quantised& found,
                                                        std::int16_t* q, std::uint8_t* out, Tally* tally) noexcept {
  if (!lies_far(found)) return compress_wide(x, grid, out, tally);
  note_bound(tally, code_bound(found));
  const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
  return encode_far(found, q, orders, ahead_of(x), out, [](std::uint8_t* p) { return p; });
}

template <class T>
__attribute__((noinline)) std::size_t compress_filled(const T* x, const Grid<T>& grid, const Blocks16<T>& good,
                                                      std::int16_t* q, std::uint8_t* out, Tally* tally) noexcept {
  MissingPlaces<T> missing;
  const Quantised found = quantise_filled16(x, grid, good, q, &missing);
  const bool far = lies_far(found);
  if (!fits16(found) && !far) return compress_wide(x, grid, out, tally);
  tally->exceptions += missing.count;
  const auto section = [&](std::uint8_t* p) {
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return write_alike(missing, p);
  };
  if (found.least == 0 && found.most == 0)
    return finish_group(_mm256_setzero_si256(), out, section(write_head(Predictor::none_unsigned, 0, 0, out)));
  fill16(missing, q);
  note_bound(tally, code_bound(found));
  if (far) {
    const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
    return encode_far(found, q, orders, ahead_of(x), out, section);
  }
  return encode(predictor_of(choose_order16(q, grid.orders), found.least < 0), q, ahead_of(x), out, section);
}

template <class T>
STRETTO_INLINE std::size_t compress(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  Row16 row;
  std::int16_t* const q = row.at();
  Blocks16<T> good;
  const Quantised found = quantise16(x, grid, q, &good);
  if (!found.safe) {
    if constexpr (std::is_integral_v<T>)
      return compress_wide(x, grid, out, tally);
    else
      return compress_filled(x, grid, good, q, out, tally);
  }
  if (!fits16(found)) return compress_beyond16(x, grid, found, q, out, tally);
  if (found.least == 0 && found.most == 0) return 0;
  note_bound(tally, code_bound(found));
  return encode(predictor_of(choose_order16(q, grid.orders), found.least < 0), q, ahead_of(x), out,
                [](std::uint8_t* p) { return p; });
}

template <class T>
std::size_t compress_part(const T* x, int m, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) T values[kGroup];
  std::memcpy(values, x, static_cast<std::size_t>(m) * sizeof(T));
  std::fill(values + m, values + kGroup, values[m - 1]);
  Row16 row;
  std::int16_t* const q = row.at();
  const Quantised found = quantise16(values, grid, q);
  if (!fits16(found)) return compress_wide_part(values, m, grid, out, tally);
  if (found.least == 0 && found.most == 0) return 0;
  return encode_part<T>(q, m, code_bound(found), out, tally);
}

}  // namespace

std::size_t compress_f32(const float* x, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}
std::size_t compress_f64(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}
std::size_t compress_i32(const std::int32_t* x, const Grid<std::int32_t>& grid, std::uint8_t* out,
                         Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}
std::size_t compress_i64(const std::int64_t* x, const Grid<std::int64_t>& grid, std::uint8_t* out,
                         Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}

std::size_t compress_part_f32(const float* x, int m, const Grid<float>& grid, std::uint8_t* out,
                              Tally* tally) noexcept {
  return compress_part(x, m, grid, out, tally);
}
std::size_t compress_part_f64(const double* x, int m, const Grid<double>& grid, std::uint8_t* out,
                              Tally* tally) noexcept {
  return compress_part(x, m, grid, out, tally);
}
std::size_t compress_part_i32(const std::int32_t* x, int m, const Grid<std::int32_t>& grid, std::uint8_t* out,
                              Tally* tally) noexcept {
  return compress_part(x, m, grid, out, tally);
}
std::size_t compress_part_i64(const std::int64_t* x, int m, const Grid<std::int64_t>& grid, std::uint8_t* out,
                              Tally* tally) noexcept {
  return compress_part(x, m, grid, out, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
