// Sums of narrow groups with missing data. If both miss the same places, codes add as bit planes. Else missing places
// take neighbours' codes.
#if defined(STRETTO_PORTABLE_FILLED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_FILLED_INL_H_
#undef STRETTO_PORTABLE_FILLED_INL_H_
#else
#define STRETTO_PORTABLE_FILLED_INL_H_
#endif

#include "codec/portable/encode-inl.h"
#include "codec/portable/plane_sums-inl.h"
#include "codec/portable/uniform_sums-inl.h"
#include "codec/portable/write_exceptions.hpp"
#include "codec/stream/exception_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// Planes, widths and overrun behind the exceptions.
inline constexpr std::size_t kPlanesRoom = 4 * 32 * kBlocks + 128;

inline std::uint8_t* EndOfExceptions(std::uint8_t* out, std::size_t room) {
  return out + std::min(room, 4 * kMaxGroupWords) - kPlanesRoom;
}

struct FilledGroup {
  PackedGroup codes;
  GroupView view;
};

inline bool OpenFilled(const std::uint8_t* p, std::size_t words, Type type, FilledGroup* g, const GroupView* like) {
  if (parse_packed(p, words, &g->codes)) return true;
  if (!parse_group(p, words, kGroup, type, &g->view, like) || g->view.wide) return false;
  g->codes = packed(g->view, p + 4 * words);
  return true;
}

// False (and garbage in q) unless the codes certainly fit 16 bits.
inline bool ReadSmallCodes(const PackedGroup& g, std::int16_t* q) {
  if (!MayBeSmall(g)) return false;
  const auto within = [](Extremes<std::int16_t> x) { return x.least >= -kLimit16 && x.most <= kLimit16; };
  ReadRow(g, q);
  if (g.predictor == Predictor::second && !within(SumUp(q, static_cast<std::int16_t>(g.slope)))) return false;
  return order_of(g.predictor) == 0 || within(SumUp(q, static_cast<std::int16_t>(g.base)));
}

inline constexpr int kMost16 = 32766;
// Places in `lanes` get neighbours' codes. Extremes beyond kMost16 are not certain.
inline Extremes<std::int16_t> AddSmallCodes(const std::int16_t* qa, const std::int16_t* qb, bool negate_b,
                                            const Lanes lanes, std::int16_t* q) {
  const Tag<std::int16_t> d;
  for (std::size_t i = 0; i < kGroup; i += kLanes16) {
    const auto u = hn::Load(d, qa + i), v = hn::Load(d, qb + i);
    hn::Store(negate_b ? hn::SaturatedSub(u, v) : hn::SaturatedAdd(u, v), d, q + i);
  }
  q[-1] = 0;
  for (int b = 0; b < kBlocks; ++b)
    if (lanes[b] != 0) FillBlock(lanes[b], q + kBlock * b);
  FillFront(lanes, q);
  auto least = hn::Zero(d), most = least;
  for (std::size_t i = 0; i < kGroup; i += kLanes16) {
    const auto v = hn::Load(d, q + i);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most))};
}

struct SumHead {
  Predictor predictor = Predictor::none_unsigned;
  Start start;
  SumHead(const PackedGroup& a, const PackedGroup& b, bool negate_b) noexcept
      : predictor(std::max(a.predictor, b.predictor)),
        start{negate_b ? wrapping_difference(a.base, b.base) : wrapping_sum(a.base, b.base),
              negate_b ? wrapping_difference(a.slope, b.slope) : wrapping_sum(a.slope, b.slope)} {
    if (negate_b && predictor == Predictor::none_unsigned) predictor = Predictor::none_signed;
  }
  // The extremes bound the codes, and include zero.
  bool fits16(const std::int16_t* q, Extremes<std::int16_t> x) const noexcept {
    const int order = order_of(predictor), span = x.most - x.least;
    if (x.least < -kMost16 || x.most > kMost16 || span * order > kMost16) return false;
    const auto fits = [](std::int64_t v) { return v >= -kMost16 && v <= kMost16; };
    const std::int64_t first = std::int64_t{q[0]} - start.base - start.slope;
    return order == 0 || (fits(first) && (order == 1 || fits(std::int64_t{q[1]} - 2 * q[0] + start.base)));
  }
};

// write(qa, qb, at) writes the exceptions. Declines if 16 bits might not suffice.
template <class Write>
std::size_t AddUnlikeSmall(const FilledGroup& a, const FilledGroup& b, const Lanes lanes, bool negate_b,
                           std::uint8_t* out, const Write& write) {
  const SumHead head(a.codes, b.codes, negate_b);
  Row<std::int16_t> small[3];
  std::int16_t *qa = small[0].at(), *qb = small[1].at(), *q = small[2].at();
  if (!ReadSmallCodes(a.codes, qa) || !ReadSmallCodes(b.codes, qb) ||
      !head.fits16(q, AddSmallCodes(qa, qb, negate_b, lanes, q)))
    return kDeclined;
  Row<std::int32_t> large[2];
  Widen(qa, large[0].at());
  Widen(qb, large[1].at());
  std::uint8_t* const planes =
      write(large[0].at(), large[1].at(), out + write_head(head.predictor, head.start.base, head.start.slope, out));
  if (!planes) return kDeclined;
  Precede(q, head.start);
  return FinishRow(head.predictor, order_of(head.predictor), q, NoSummand(), nullptr, planes, out);
}

template <class Write>
std::size_t AddUnlikeLarge(const FilledGroup& a, const FilledGroup& b, const Lanes lanes, bool negate_b,
                           std::uint8_t* out, const Write& write) {
  const Tag<std::int32_t> d;
  const SumHead head(a.codes, b.codes, negate_b);
  Row<std::int32_t> rows[3];
  std::int32_t *qa = rows[0].at(), *qb = rows[1].at(), *q = rows[2].at();
  ReadCodes(a.codes, qa);
  ReadCodes(b.codes, qb);
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>) {
    const auto u = hn::Load(d, qa + i), v = hn::Load(d, qb + i);
    hn::Store(negate_b ? hn::Sub(u, v) : hn::Add(u, v), d, q + i);
  }
  fill_exceptions(lanes, q);
  if (head.predictor == Predictor::none_unsigned) {
    auto least = hn::Zero(d);
    for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>) least = hn::Min(least, hn::Load(d, q + i));
    if (!hn::AllTrue(d, hn::Eq(least, hn::Zero(d)))) return kDeclined;
  }
  Row<std::int32_t> residuals;
  const std::int32_t* e = ResidualsFrom(order_of(head.predictor), q, residuals.at(), head.start.base, head.start.slope);
  return WriteGroup(head.predictor, head.start.base, head.start.slope, e, out,
                    [&](std::uint8_t* at) { return write(qa, qb, at); });
}

template <class T>
HWY_NOINLINE std::size_t AddFilled(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b,
                                   std::size_t b_words, bool negate_b, double width, std::uint8_t* out,
                                   std::size_t room, Tally* tally) {
  constexpr Type type = sizeof(T) == 4 ? Type::f32 : Type::f64;
  FilledGroup ga, gb;
  if (!OpenFilled(a, a_words, type, &ga, nullptr) || !OpenFilled(b, b_words, type, &gb, &ga.view)) return kDeclined;
  std::uint8_t* const end = EndOfExceptions(out, room);
  Lanes lanes;
  bool alike = true;
  int places = 0;
  for (int i = 0; i < kBlocks; ++i) {
    lanes[i] = ga.view.lanes[i] | gb.view.lanes[i];
    alike = alike && ga.view.lanes[i] == gb.view.lanes[i];
    places += std::popcount(lanes[i]);
  }
  std::size_t words = kDeclined;
  if (places == 0) {
    words = AddPacked(ga.codes, gb.codes, negate_b, out, kNothing);
  } else if (alike) {
    words = AddPacked(ga.codes, gb.codes, negate_b, out, [&](std::uint8_t* p) {
      store(out, load<std::uint32_t>(out) | kExceptionsBit);
      return write_exception_sums<T>({ga.view, nullptr}, {gb.view, nullptr}, negate_b, lanes, width, p, end,
                                     &WriteSums);
    });
  } else {
    const auto write = [&](const std::int32_t* qa, const std::int32_t* qb, std::uint8_t* at) {
      store(out, load<std::uint32_t>(out) | kExceptionsBit);
      return write_exception_sums<T>({ga.view, qa}, {gb.view, qb}, negate_b, lanes, width, at, end, &WriteSums);
    };
    words = AddUnlikeSmall(ga, gb, lanes, negate_b, out, write);
    if (words == kDeclined) words = AddUnlikeLarge(ga, gb, lanes, negate_b, out, write);
  }
  if (words != kDeclined) tally->exceptions += static_cast<std::uint64_t>(places);
  return words;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
