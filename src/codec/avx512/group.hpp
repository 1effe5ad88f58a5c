// Narrow groups, with the checks of parse_group().
#pragma once

#include "codec/avx512/missing_map.hpp"
#include "codec/avx512/planes.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec::avx512 {

struct NarrowGroup {
  Predictor predictor;
  std::int32_t base, slope;
  const std::uint8_t* planes;
  __m256i widths;
};

STRETTO_AVX512_BEGIN

struct NoExceptions {
  static constexpr bool kSome = false;
};
// Read into `view`, whose m is set. `like` as for parse_group().
struct ExceptionsInto {
  static constexpr bool kSome = true;
  Type type;
  GroupView* view;
  const GroupView* like;
  STRETTO_MEMBER std::size_t read(const std::uint8_t* p, std::size_t left) const noexcept {
    return like ? parse_exceptions(p, left, type, view, like) : read_missing(p, left, type, view);
  }
};
struct AlikeRunsInto {
  static constexpr bool kSome = true;
  Type type;
  AlikeRuns* runs;
  const AlikeRuns* like;
  STRETTO_MEMBER std::size_t read(const std::uint8_t* p, std::size_t left) const noexcept {
    return read_alike_runs(p, left, type, runs, like);
  }
};

// True: a well-formed narrow group, without exceptions or, as `to` says, with them.
template <class To>
STRETTO_INLINE bool read_group_to(const std::uint8_t* p, std::size_t words, NarrowGroup* g, To to) noexcept {
  g->base = g->slope = 0;
  if (words == 0) {
    if constexpr (To::kSome) return false;
    g->predictor = Predictor::none_unsigned;
    g->planes = p;
    g->widths = _mm256_setzero_si256();
    return true;
  }
  const auto word = load<std::uint32_t>(p);
  const auto form = static_cast<Form>(word >> 4 & 7);
  if ((word & (kWideBit | kExceptionsBit)) != (To::kSome ? kExceptionsBit : 0) || form > Form::masked_bytes)
    return false;
  g->predictor = static_cast<Predictor>(word & 3);
  const std::uint8_t* end = p + 4 * words;
  const std::uint8_t* at = p + 4;
  const bool has_base = g->predictor >= Predictor::first, is_short = word & kShortBaseBit;
  if (is_short ? !has_base : (word >> 8) != 0) return false;
  const std::size_t codes = (has_base && !is_short) + (g->predictor == Predictor::second);
  if (words < 1 + codes) return false;
  if (is_short) {
    g->base = static_cast<std::int32_t>(word) >> 8;
  } else if (has_base) {
    g->base = load<std::int32_t>(at);
    at += 4;
  }
  if (g->predictor == Predictor::second) {
    g->slope = load<std::int32_t>(at);
    at += 4;
  }
  if constexpr (To::kSome) {
    const std::size_t n = to.read(at, static_cast<std::size_t>(end - at));
    if (n == 0) return false;
    at += n;
  }
  const std::uint8_t* widths = nullptr;
  if (!read_widths(form, p, end, &g->widths, &widths)) return false;
  g->planes = at;
  const int planes = planes_in(g->widths, g->predictor == Predictor::none_unsigned ? 31 : 32);
  return planes >= 0 && widths - at == 4 * planes;
}

STRETTO_INLINE bool read_group(const std::uint8_t* p, std::size_t words, NarrowGroup* g) noexcept {
  return read_group_to(p, words, g, NoExceptions());
}
static inline bool read_filled(const std::uint8_t* p, std::size_t words, Type type, NarrowGroup* g, GroupView* view,
                               const GroupView* like = nullptr) noexcept {
  view->m = kGroup;
  return read_group_to(p, words, g, ExceptionsInto{type, view, like});
}

STRETTO_INLINE std::uint8_t* write_head(Predictor predictor, std::int32_t base, std::int32_t slope,
                                        std::uint8_t* out) noexcept {
  std::uint32_t word = static_cast<std::uint32_t>(predictor);
  std::uint8_t* p = out + 4;
  if (predictor >= Predictor::first) {
    if (base >= -(1 << 23) && base < (1 << 23)) {
      word |= kShortBaseBit | static_cast<std::uint32_t>(base) << 8;
    } else {
      store(p, base);
      p += 4;
    }
  }
  if (predictor == Predictor::second) {
    store(p, slope);
    p += 4;
  }
  store(out, word);
  return p;
}

// Appends the widths at p, and completes word 0. Returns the words.
STRETTO_INLINE std::size_t finish_group(__m256i widths, std::uint8_t* out, std::uint8_t* p) noexcept {
  Form form{};
  p += write_widths(widths, p, &form);
  const auto word = load<std::uint32_t>(out);
  if (form == Form::zero && word == static_cast<std::uint32_t>(Predictor::none_unsigned)) return 0;
  store(out, word | static_cast<std::uint32_t>(form) << 4);
  return static_cast<std::size_t>(p - out) / 4;
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
