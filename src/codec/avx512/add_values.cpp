// Adds values to a stream in one pass: the stream's residuals join the codes at their own order.
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/filled.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/quantise.hpp"
#include "codec/avx512/summand.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

// Collects bits of v + w or v - w beyond 16 bits, unless there can be none.
template <bool kSure>
struct Overflow16 {
  __m512i bits;
  STRETTO_MEMBER void take(__m512i wrapped, __m512i saturated) noexcept {
    if constexpr (!kSure)
      bits = _mm512_ternarylogic_epi32(bits, wrapped, saturated, 0xf6);  // _ | (wrapped ^ saturated)
  }
};
template <bool kSure>
STRETTO_INLINE __m512i last_sum(__m512i v, __m512i w, Overflow16<kSure>& overflow) noexcept {
  const __m512i s = _mm512_add_epi16(v, w);
  overflow.take(s, _mm512_adds_epi16(v, w));
  return s;
}
template <bool kSure>
STRETTO_INLINE __m512i last_difference(__m512i v, __m512i w, Overflow16<kSure>& overflow) noexcept {
  const __m512i s = _mm512_sub_epi16(v, w);
  overflow.take(s, _mm512_subs_epi16(v, w));
  return s;
}

// Code at which the stream's residuals joined, and difference, before the block.
struct Before16 {
  __m512i code, difference;
};

// Adds the stream's residuals f of order kAt.
template <int kOrder, int kAt, bool kSure>
STRETTO_INLINE __m512i next_sum(Before16& s, const std::int16_t* q, __m512i f, Overflow16<kSure>& overflow) noexcept {
  if constexpr (kAt == kOrder) return last_sum(differences16<kOrder>(q), f, overflow);
  if constexpr (kAt == 1) {
    const __m512i d = _mm512_add_epi16(differences16<1>(q), f), before = lag16(d, s.difference);
    s.difference = d;
    return last_difference(d, before, overflow);
  }
  const __m512i c = _mm512_add_epi16(_mm512_load_si512(q), f), before = lag16(c, s.code);
  s.code = c;
  if constexpr (kOrder == 1) return last_difference(c, before, overflow);
  const __m512i d = _mm512_sub_epi16(c, before), d_before = lag16(d, s.difference);
  s.difference = d;
  return last_difference(d, d_before, overflow);
}
STRETTO_INLINE Pair plus(Pair a, Pair b) noexcept {
  return {_mm512_add_epi32(a.v0, b.v0), _mm512_add_epi32(a.v1, b.v1)};
}
template <int kOrder, int kAt>
STRETTO_INLINE Pair next_sum(Residuals32<kOrder>& s, Pair q, Pair f) noexcept {
  if constexpr (kAt == kOrder) return plus(next(s, q), f);
  if constexpr (kAt == 0) return next(s, plus(q, f));
  Residuals32<1> first{s.code, s.code}, second{s.difference, s.difference};
  const Pair d = plus(next(first, q), f), e = next(second, d);
  s = {first.code, second.code};
  return e;
}

// The sum's exceptions section, if any: write_() writes it behind the head, and returns its end.
class Missed {
 public:
  Missed() noexcept = default;
  template <class Write>
  explicit Missed(const Write& write) noexcept
      : write_([](const void* self, std::uint8_t* out, std::uint8_t* p) noexcept {
          return (*static_cast<const Write*>(self))(out, p);
        }),
        self_(&write) {}
  std::uint8_t* write(std::uint8_t* out, std::uint8_t* p) const noexcept { return write_ ? write_(self_, out, p) : p; }

 private:
  std::uint8_t* (*write_)(const void*, std::uint8_t*, std::uint8_t*) noexcept = nullptr;
  const void* self_ = nullptr;
};

// kDeclined if the sums exceed 16 bits, which only the last step may do, and not if kSure.
template <Predictor kPredictor, int kAt, bool kSure>
std::size_t add_encode(const NarrowGroup& a, std::int16_t* q, std::int32_t base, std::int32_t slope,
                       PrefetchCursor ahead, Missed missed, std::uint8_t* out) noexcept {
  std::uint8_t* p =
      missed.write(out, write_head(kPredictor, wrapping_sum(a.base, base), wrapping_sum(a.slope, slope), out));
  Before16 before{_mm512_set1_epi16(static_cast<short>(base)), _mm512_set1_epi16(static_cast<short>(slope))};
  precede(q, base, slope);
  Summand from = summand(a);
  WidthReader lengths{_mm256_slli_epi16(a.widths, 2)};
  WidthWriter to{_mm256_setzero_si256()};
  Overflow16<kSure> overflow{_mm512_setzero_si512()};
  for (int first = 0; first < kBlocks; first += 8) {
    std::uint64_t n = next8(lengths);
    Bits8 bits;
#pragma GCC unroll 8
    for (__m512i& b : bits.of) {
      fetch_share(ahead);
      b = next_split_words(from, n & 0xff);
      n >>= 8;
    }
#pragma GCC unroll 8
    for (__m512i& b : bits.of) {
      b = bits_of_words(next_sum<order_of(kPredictor), kAt>(before, q, joined(b), overflow));
      q += 32;
    }
    push8(to, write_bits<kPredictor == Predictor::none_unsigned>(bits, p));
  }
  if (!kSure && _mm512_test_epi32_mask(overflow.bits, overflow.bits)) return kDeclined;
  return finish_group(_mm256_srli_epi16(to.widths, 2), out, p);
}

// Modulo 2^32.
template <Predictor kPredictor, int kAt, bool>
std::size_t add_encode(const NarrowGroup& a, std::int32_t* q, std::int32_t base, std::int32_t slope,
                       PrefetchCursor ahead, Missed missed, std::uint8_t* out) noexcept {
  std::uint8_t* p =
      missed.write(out, write_head(kPredictor, wrapping_sum(a.base, base), wrapping_sum(a.slope, slope), out));
  Residuals32<order_of(kPredictor)> residuals{_mm512_set1_epi32(base), _mm512_set1_epi32(slope)};
  Summand from = summand(a);
  WidthReader lengths{_mm256_slli_epi16(a.widths, 2)};
  WidthWriter to{_mm256_setzero_si256()};
  for (int first = 0; first < kBlocks; first += 8) {
    std::uint64_t n = next8(lengths), written = 0;
    for (int j = 0; j < 8; ++j, n >>= 8, q += 32) {
      fetch_share(ahead);
      const Pair codes{_mm512_load_si512(q), _mm512_load_si512(q + 16)};
      const Pair e = next_sum<order_of(kPredictor), kAt>(residuals, codes, next_pair(from, n & 0xff));
      const unsigned w = write_block32<kPredictor == Predictor::none_unsigned>(e.v0, e.v1, p);
      written |= std::uint64_t{w} << (8 * j);
      p += 4 * w;
    }
    push8(to, written);
  }
  if (kPredictor == Predictor::none_unsigned && has_width_32(to.widths)) return kDeclined;
  return finish_group(to.widths, out, p);
}

template <bool kSure, class Code>
std::size_t add_encode(Predictor predictor, const NarrowGroup& a, Code* q, std::int32_t base, std::int32_t slope,
                       PrefetchCursor ahead, Missed missed, std::uint8_t* out) noexcept {
  using enum Predictor;
  const int at = order_of(a.predictor);
  switch (predictor) {
    case none_unsigned: return add_encode<none_unsigned, 0, kSure>(a, q, 0, 0, ahead, missed, out);
    case none_signed: return add_encode<none_signed, 0, kSure>(a, q, 0, 0, ahead, missed, out);
    case first:
      return at == 0 ? add_encode<first, 0, kSure>(a, q, base, slope, ahead, missed, out)
                     : add_encode<first, 1, kSure>(a, q, base, slope, ahead, missed, out);
    case second: break;
  }
  if (at == 2) return add_encode<second, 2, kSure>(a, q, base, slope, ahead, missed, out);
  return at == 0 ? add_encode<second, 0, kSure>(a, q, base, slope, ahead, missed, out)
                 : add_encode<second, 1, kSure>(a, q, base, slope, ahead, missed, out);
}

// Raised codes keep their base and have no slope (docs/format.md, Sums).
template <class Code>
STRETTO_INLINE void entering(Predictor own, Predictor result, const Code* q, std::int32_t* base,
                             std::int32_t* slope) noexcept {
  *base = *slope = 0;
  if (own == Predictor::first) *base = q[0];
  if (own == Predictor::second && result == own) fresh<Predictor::second>(q, base, slope);
}

// Largest result of the last step, if all before it fit 16 bits, as codes and their second differences must; else
// kBeyond16.
inline constexpr int kBeyond16 = 1 << 30;
STRETTO_INLINE int reach16(const Quantised& codes, Predictor own, Predictor result, const NarrowGroup& a) noexcept {
  const unsigned w = widest(a.widths);
  if (w > 15) return kBeyond16;
  const int order = order_of(result), at = order_of(a.predictor);
  const int size = codes.most > -codes.least ? codes.most : -codes.least;
  // Without a base the codes start with a difference from 0.
  const int range = codes.most - codes.least, step = order_of(own) == 0 && size > range ? size : range;
  const int added = (1 << w) >> (a.predictor != Predictor::none_unsigned);
  const int joining = at == 0 ? size : step << (at - 1);
  if (at == order) return joining <= 32767 ? joining + added : kBeyond16;
  const int before_last = (joining + added) << (order - at - 1);
  return before_last <= 32767 ? 2 * before_last : kBeyond16;
}

STRETTO_INLINE std::size_t compress_any(const float* x, const Grid<float>& grid, std::uint8_t* out,
                                        Tally* tally) noexcept {
  return compress_f32(x, grid, out, tally);
}
STRETTO_INLINE std::size_t compress_any(const double* x, const Grid<double>& grid, std::uint8_t* out,
                                        Tally* tally) noexcept {
  return compress_f64(x, grid, out, tally);
}

template <class T>
std::size_t add_in_steps(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid, std::uint8_t* out,
                         std::size_t room, Tally* tally) noexcept {
  std::uint8_t compressed[kKernelRoom];
  Tally own;
  const std::size_t n = compress_any(x, grid, compressed, &own);
  if (n == kDeclined) return kDeclined;
  std::size_t sum = own.exceptions == 0 ? add(a, words, compressed, n, false, out) : kDeclined;
  if (sum == kDeclined) {
    if constexpr (sizeof(T) == 4)
      sum = add_filled_f32(a, words, compressed, n, false, grid.width, out, room, tally);
    else
      sum = add_filled_f64(a, words, compressed, n, false, grid.width, out, room, tally);
  }
  if (sum != kDeclined) note_bound(tally, own.bound);
  return sum;
}

// reach: reach16().
template <class Code>
STRETTO_INLINE std::size_t add_codes(const NarrowGroup& group, Code* q, Predictor own, int reach, PrefetchCursor ahead,
                                     Missed missed, std::uint8_t* out) noexcept {
  const Predictor result = group.predictor < own ? own : group.predictor;
  std::int32_t base = 0, slope = 0;
  entering(own, result, q, &base, &slope);
  if constexpr (sizeof(Code) == 2)
    if (reach > 32767) return add_encode<false>(result, group, q, base, slope, ahead, missed, out);
  return add_encode<true>(result, group, q, base, slope, ahead, missed, out);
}

template <class T>
std::size_t add_values32(const std::uint8_t* a, std::size_t words, const NarrowGroup& group, const T* x,
                         const Grid<T>& grid, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  alignas(64) std::int32_t q[kGroup];
  const Quantised found = quantise32(x, grid, q);
  if (!found.safe) {
    if constexpr (std::is_integral_v<T>)
      return kDeclined;
    else
      return add_in_steps(a, words, x, grid, out, room, tally);
  }
  note_bound(tally, code_bound(found));
  const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
  return add_codes(group, q, predictor_of(choose_order32(q, orders), found.least < 0), 0, ahead_of(x), Missed(), out);
}

// Accepts the stream's section if its map is that of x's missing places.
struct SameMapInto {
  static constexpr bool kSome = true;
  Type type;
  const std::uint8_t* map;
  std::size_t map_bytes;
  AlikeValue* value;
  STRETTO_MEMBER std::size_t read(const std::uint8_t* p, std::size_t left) const noexcept {
    if (left < map_bytes || !is_exception_kind(p[0]) || !(p[0] & kUniformBit) || (p[0] & kRunsBit) != map[0] ||
        std::memcmp(p + 1, map + 1, map_bytes - 1) != 0)
      return 0;
    return read_alike_value(p, left, map_bytes, type, value);
  }
};

// Declines groups unless both have equal missing places, with one value in each.
template <class T>
std::size_t add_alike_values(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid,
                             std::uint8_t* out, Tally* tally) noexcept {
  Row16 row;
  std::int16_t* const q = row.at();
  MissingPlaces<T> missing;
  Blocks16<T> good;
  if (quantise16(x, grid, q, &good).safe) return kDeclined;
  const Quantised found = quantise_filled16(x, grid, good, q, &missing);
  const bool far = lies_far(found);
  if (!fits16(found) && !far) return kDeclined;
  std::uint8_t map[kMapRoom];
  const std::size_t map_bytes =
      write_missing_map(_mm512_loadu_si512(missing.lanes), _mm512_loadu_si512(missing.lanes + 16), map);
  NarrowGroup group;
  AlikeValue value;
  if (!read_group_to(a, words, &group, SameMapInto{sizeof(T) == 4 ? Type::f32 : Type::f64, map, map_bytes, &value}))
    return kDeclined;
  const auto write = [&](std::uint8_t* head, std::uint8_t* p) noexcept {
    std::memcpy(p, map, kMostMapBytes);
    *p |= kSumsBit | kUniformBit;
    store(head, load<std::uint32_t>(head) | kExceptionsBit);
    p += map_bytes;
    return p + write_sum<T>(value, {reinterpret_cast<const std::uint8_t*>(&missing.value), sizeof(T), false}, false, p);
  };
  if (found.least == 0 && found.most == 0) {
    if (_mm256_testz_si256(group.widths, group.widths)) {
      tally->exceptions += missing.count;
      return finish_group(group.widths, out, write(out, write_head(group.predictor, group.base, group.slope, out)));
    }
    std::memset(q, 0, kGroup * sizeof *q);
  } else {
    fill16(missing, q);
  }
  if (far) group.base = wrapping_sum(group.base, found.least);
  const Quantised near = far ? from_least(found, q) : found;
  const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
  const Predictor own = far ? predictor_of(choose_far_order16(q, orders), false)
                            : predictor_of(choose_order16(q, orders), found.least < 0);
  const int reach = reach16(near, own, group.predictor < own ? own : group.predictor, group);
  if (reach == kBeyond16) return kDeclined;
  const std::size_t n = add_codes(group, q, own, reach, ahead_of(x), Missed(write), out);
  if (n == kDeclined) return kDeclined;
  note_bound(tally, code_bound(found));
  tally->exceptions += missing.count;
  return n;
}

template <class T>
__attribute__((noinline)) std::size_t add_filled_values(const std::uint8_t* a, std::size_t words, const T* x,
                                                        const Grid<T>& grid, std::uint8_t* out, std::size_t room,
                                                        Tally* tally) noexcept {
  const std::size_t n = add_alike_values(a, words, x, grid, out, tally);
  return n != kDeclined ? n : add_in_steps(a, words, x, grid, out, room, tally);
}

template <class T>
std::size_t add_far_values(NarrowGroup group, const Quantised& found, std::int16_t* q, Coding orders, const T* x,
                           std::uint8_t* out, Tally* tally) noexcept {
  group.base = wrapping_sum(group.base, found.least);
  const Quantised near = from_least(found, q);
  const Predictor own = predictor_of(choose_far_order16(q, orders), false);
  const int reach = reach16(near, own, group.predictor < own ? own : group.predictor, group);
  if (reach == kBeyond16) return kDeclined;
  const std::size_t n = add_codes(group, q, own, reach, ahead_of(x), Missed(), out);
  if (n != kDeclined) note_bound(tally, code_bound(found));
  return n;
}

template <class T>
__attribute__((noinline)) std::size_t add_beyond16(const std::uint8_t* a, std::size_t words, const NarrowGroup& group,
                                                   const Quantised& found, std::int16_t* q, const T* x,
                                                   const Grid<T>& grid, std::uint8_t* out, std::size_t room,
                                                   Tally* tally) noexcept {
  if (lies_far(found)) {
    const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
    const std::size_t n = add_far_values(group, found, q, orders, x, out, tally);
    if (n != kDeclined) return n;
  }
  return add_values32(a, words, group, x, grid, out, room, tally);
}

template <class T>
STRETTO_INLINE std::size_t add_values(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid,
                                      std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  NarrowGroup group;
  if (!read_group(a, words, &group)) {
    if constexpr (std::is_integral_v<T>)
      return kDeclined;
    else
      return add_filled_values(a, words, x, grid, out, room, tally);
  }
  Row16 row;
  std::int16_t* const q = row.at();
  const Quantised found = quantise16(x, grid, q);
  if (fits16(found)) {
    if (words == 0 && found.least == 0 && found.most == 0) return 0;
    const Predictor own = predictor_of(choose_order16(q, grid.orders), found.least < 0);
    const int reach = reach16(found, own, group.predictor < own ? own : group.predictor, group);
    if (reach != kBeyond16) {
      const std::size_t n = add_codes(group, q, own, reach, ahead_of(x), Missed(), out);
      if (n != kDeclined) {
        note_bound(tally, code_bound(found));
        return n;
      }
    }
  }
  return add_beyond16(a, words, group, found, q, x, grid, out, room, tally);
}

}  // namespace

std::size_t add_values_f32(const std::uint8_t* a, std::size_t words, const float* x, const Grid<float>& grid,
                           std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, room, tally);
}
std::size_t add_values_f64(const std::uint8_t* a, std::size_t words, const double* x, const Grid<double>& grid,
                           std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, room, tally);
}
std::size_t add_values_i32(const std::uint8_t* a, std::size_t words, const std::int32_t* x,
                           const Grid<std::int32_t>& grid, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, room, tally);
}
std::size_t add_values_i64(const std::uint8_t* a, std::size_t words, const std::int64_t* x,
                           const Grid<std::int64_t>& grid, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, room, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
