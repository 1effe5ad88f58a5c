// Exact sums of summands with one value for all missing places, in 128 bits.
#if defined(STRETTO_PORTABLE_UNIFORM_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_UNIFORM_SUMS_INL_H_
#undef STRETTO_PORTABLE_UNIFORM_SUMS_INL_H_
#else
#define STRETTO_PORTABLE_UNIFORM_SUMS_INL_H_
#endif

#include <bit>

#include "codec/portable/vectors-inl.h"
#include "codec/stream/exception_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

inline constexpr int kPlaces = static_cast<int>(kLanes<std::uint64_t>);  // at a time: 2 or 4

struct TrimTable {
  std::uint32_t head[16];
  std::uint8_t from[16], bytes[16];
  explicit TrimTable(int first_word) noexcept {
    head[0] = from[0] = 0;
    bytes[0] = 4;
    for (unsigned set = 1; set < 16; ++set) {
      const int first = std::countr_zero(set), count = std::bit_width(set) - first;
      head[set] = static_cast<std::uint32_t>(count | (first + first_word) << 8);
      from[set] = static_cast<std::uint8_t>(4 * first);
      bytes[set] = static_cast<std::uint8_t>(4 + 4 * count);
    }
  }
};

// Place j is number j / 2 of the even or odd places.
struct SumsOfPlaces {
  alignas(32) std::uint8_t words[2][2 * kBytes] = {};  // up to 12 bytes behind a number are copied with it
  alignas(32) std::uint64_t head[kPlaces] = {};
  std::uint8_t used[2][8] = {};

  HWY_INLINE std::uint8_t* write(int j, const TrimTable& trims, std::uint8_t* p) const {
    const hn::FixedTag<std::uint8_t, 16> d;
    const unsigned set = used[j % 2][0] >> (j / 2 * 4) & 15;
    store(p, trims.head[set] | static_cast<std::uint32_t>(head[j]));
    hn::StoreU(hn::LoadU(d, words[j % 2] + 16 * (j / 2) + trims.from[set]), d, p + 4);
    return p + trims.bytes[set];
  }
};

struct MissingSums {
  std::uint64_t low[3], high[3], flags[3];
  explicit MissingSums(const UniformSums& s) noexcept
      : low{s.a.low, s.b.low, s.a.low + s.b.low},
        high{s.a.high, s.b.high, s.a.high + s.b.high + (low[2] < s.a.low ? 1u : 0u)},
        flags{s.a.flags, s.b.flags, s.a.flags | s.b.flags} {}
};

// kPlaces places from `at` on. in_a, in_b: a bit per missing place; higher bits are ignored.
HWY_INLINE void SumPlaces(const UniformSums& s, const MissingSums& missing, std::size_t at, std::uint32_t in_a,
                          std::uint32_t in_b, SumsOfPlaces* sums) {
  const Tag<std::uint64_t> d;
  const Tag<std::int64_t> di;
  const Tag<std::int32_t> d32;
  const Tag<std::uint32_t> du32;
  const hn::Rebind<std::int32_t, decltype(di)> half;
  constexpr std::uint32_t kAll = (1u << kPlaces) - 1;
  const std::uint8_t bits_a[8] = {static_cast<std::uint8_t>(in_a & kAll)};
  const std::uint8_t bits_b[8] = {static_cast<std::uint8_t>(in_b & kAll)};
  const auto a = hn::LoadMaskBits(di, bits_a), b = hn::LoadMaskBits(di, bits_b);
  const auto missing_of = [&](const std::uint64_t* of) HWY_ATTR {
    const auto value = [&](int k) HWY_ATTR { return hn::BitCast(di, hn::Set(d, of[k])); };
    return hn::IfThenElse(a, hn::IfThenElse(b, value(2), value(0)), value(1));
  };
  const auto sign_b = hn::Set(di, s.negate_b ? -1 : 0);
  const auto code_a = hn::PromoteTo(di, hn::LoadU(half, s.codes_a + at));
  const auto code_b = hn::Sub(hn::Xor(hn::PromoteTo(di, hn::LoadU(half, s.codes_b + at)), sign_b), sign_b);
  const auto code = hn::BitCast(d32, hn::IfThenElse(a, hn::IfThenZeroElse(b, code_b), code_a));
  const auto product = hn::MulEven(code, hn::Set(d32, static_cast<std::int32_t>(s.factor)));
  const auto shift = static_cast<int>(s.shift);
  const auto missing_low = hn::BitCast(d, missing_of(missing.low));
  const auto low = hn::Add(hn::ShiftLeftSame(hn::BitCast(d, product), shift), missing_low);
  const auto carry = hn::VecFromMask(di, hn::RebindMask(di, hn::Lt(low, missing_low)));
  const auto high = hn::Sub(hn::Add(hn::ShiftRightSame(product, 64 - shift), missing_of(missing.high)), carry);
  const auto sign = hn::BroadcastSignBit(high);
  const auto size_low = hn::Sub(hn::Xor(hn::BitCast(di, low), sign), sign);
  const auto borrow = hn::And(sign, hn::VecFromMask(di, hn::Eq(size_low, hn::Zero(di))));
  const auto size_high = hn::Sub(hn::Xor(high, sign), borrow);
  const auto negative = hn::And(sign, hn::Set(di, std::int64_t{kNegativeBit}));
  hn::Store(hn::BitCast(d, hn::Or(negative, missing_of(missing.flags))), d, sums->head);
  const auto put = [&](auto numbers, int k) HWY_ATTR {
    const auto words = hn::BitCast(du32, numbers);
    hn::Store(hn::BitCast(Tag<std::uint8_t>(), words), Tag<std::uint8_t>(), sums->words[k]);
    hn::StoreMaskBits(du32, hn::Ne(words, hn::Zero(du32)), sums->used[k]);
  };
  put(hn::InterleaveLower(di, size_low, size_high), 0);
  put(hn::InterleaveUpper(di, size_low, size_high), 1);
}

inline std::uint8_t* WriteSums(const UniformSums& s, std::uint8_t* p, std::uint8_t* end) noexcept {
  constexpr std::size_t kMost = 24;
  const TrimTable trims(s.first_word);
  const MissingSums missing(s);
  SumsOfPlaces sums;
  for (int b = 0; b < kBlocks; ++b) {
    const std::uint32_t in_a = s.lanes_a[b], in_b = s.lanes_b[b], either = in_a | in_b;
    if (static_cast<std::size_t>(end - p) < (static_cast<std::size_t>(std::popcount(either)) + 1) * kMost)
      return nullptr;
    for (int i = 0; i < static_cast<int>(kBlock); i += kPlaces) {
      constexpr std::uint32_t kAll = (1u << kPlaces) - 1;
      std::uint32_t left = either >> i & kAll;
      if (left == 0) continue;
      SumPlaces(s, missing, kBlock * static_cast<std::size_t>(b) + static_cast<std::size_t>(i), in_a >> i, in_b >> i,
                &sums);
      if (left == kAll) {
        for (int j = 0; j < kPlaces; ++j) p = sums.write(j, trims, p);
        continue;
      }
      for (; left; left &= left - 1) p = sums.write(std::countr_zero(left), trims, p);
    }
  }
  return p;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
