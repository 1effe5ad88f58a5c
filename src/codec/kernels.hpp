// Each kernel works on one full group (compress_part: on a shorter one) with the scalar code's result, byte for byte,
// or declines.
#pragma once

#include <cstdint>
#include <type_traits>

#include "codec/marks.hpp"
#include "codec/numbers/arithmetic.hpp"
#include "codec/numbers/grid.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec {

inline constexpr std::size_t kDeclined = ~std::size_t{0} - 1;
// Bytes that a kernel may write: a verbatim group of float64, and whole vectors past its end.
inline constexpr std::size_t kKernelRoom = 4 * (1 + 2 * kGroup) + 512;
// Bytes past a group's words that a kernel may read. Reads of values are exact.
inline constexpr std::size_t kReadSlack = 64;

// Finite values except marks. lo > hi: empty.
template <class T>
struct PartRanges {
  T lo, hi;
  T below_lo, below_hi;
  std::uint64_t ignored = 0;
};

template <class T>
struct ValueKernels {
  std::size_t (*compress)(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) = nullptr;
  // Reports the bound of x's codes and the sum's exceptions. `room` >= kKernelRoom.
  std::size_t (*add_values)(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid,
                            std::uint8_t* out, std::size_t room, Tally* tally) = nullptr;
  // False: declined. A wrong code_bound gives wrong values, never wrong accesses. `stream`: streaming stores.
  bool (*decompress)(const std::uint8_t* p, std::size_t words, const Grid<T>& grid, std::uint64_t code_bound,
                     std::uint32_t divisor, bool stream, T* y) = nullptr;
  // lo > hi if no value is finite.
  void (*range)(const T* x, std::size_t n, T* lo, T* hi) = nullptr;
  // Sums of narrow groups, at least one with exceptions, which it reports.
  std::size_t (*add_filled)(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                            bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) = nullptr;
  // Like Marks::survey; never declines.
  KeptValues (*survey)(const T* x, const MarkSet<T>& marks, T* out, T* kept) = nullptr;
  void (*ranges)(const T* x, std::size_t n, const MarkSet<T>& marks, PartRanges<T>* found) = nullptr;
  // Like compress(), of m < kGroup values.
  std::size_t (*compress_part)(const T* x, int m, const Grid<T>& grid, std::uint8_t* out, Tally* tally) = nullptr;
};

namespace dense {
class BitWriter;
struct Counts;
struct Decoder;
struct States;
struct Tables;
struct Widths;
}  // namespace dense

// dense/coder.hpp has contracts and serves absent kernels.
struct DenseKernels {
  void (*scan)(const std::uint8_t* planes, const dense::Widths& widths, bool is_unsigned, std::uint8_t* classes,
               dense::Counts* counts, dense::BitWriter* low) = nullptr;
  std::uint8_t* (*encode)(const dense::Widths* groups, int n, const std::uint8_t* classes, const dense::Tables& tables,
                          int sets, dense::States* states, std::uint8_t* out) = nullptr;
  std::size_t (*decode)(dense::Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes,
                        std::uint8_t* widths) = nullptr;
};

struct Kernels {
  ValueKernels<float> f32;
  ValueKernels<double> f64;
  std::size_t (*add)(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                     bool negate_b, std::uint8_t* out) = nullptr;
  DenseKernels dense{};
  // For integers; the grid's `orders` alone are used. If null, kernels of floats serve (unit_grid.hpp).
  ValueKernels<std::int32_t> i32{};
  ValueKernels<std::int64_t> i64{};
  // add() of groups whose sum is wide.
  std::size_t (*add_wide)(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                          bool negate_b, std::uint8_t* out) = nullptr;
};

template <class T>
const ValueKernels<T>& value_kernels(const Kernels& k) noexcept {
  if constexpr (std::is_same_v<T, float>) return k.f32;
  if constexpr (std::is_same_v<T, double>) return k.f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return k.i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return k.i64;
}

// All are absent in `reference`. Null: this processor or build lacks the set, or it is invalid.
const Kernels* find_kernels(Isa isa) noexcept;

}  // namespace stretto::codec
