// Sums of narrow groups with missing data. Where the same places are missing in both, the codes add as bit planes, as those of any group; where
// not, the codes of the places that are missing in either take their neighbours', so they are needed one by one.
#if defined(STRETTO_PORTABLE_FILLED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_FILLED_INL_H_
#undef STRETTO_PORTABLE_FILLED_INL_H_
#else
#define STRETTO_PORTABLE_FILLED_INL_H_
#endif

#include "codec/exception_sums.hpp"
#include "codec/portable/plane_sums-inl.h"
#include "codec/portable/residuals-inl.h"
#include "codec/portable/write_exceptions.hpp"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// What may stand behind the exceptions: planes, widths, and what is written past them.
inline constexpr std::size_t kPlanesRoom = 4 * 32 * kBlocks + 128;

// Where exceptions must end in a group at `out`.
inline std::uint8_t* EndOfExceptions(std::uint8_t* out, std::size_t room) {
  return out + std::min(room, 4 * kMaxGroupWords) - kPlanesRoom;
}

// A group as it is read for sums: its codes, and its exceptions if it has some.
struct FilledGroup {
  PackedGroup codes;
  GroupView view;
};

// False: malformed or wide. `like`: as for parse_group().
inline bool OpenFilled(const std::uint8_t* p, std::size_t words, Type type, FilledGroup* g, const GroupView* like) {
  if (parse_packed(p, words, &g->codes)) return true;
  if (!parse_group(p, words, kGroup, type, &g->view, like) || g->view.wide) return false;
  g->codes = packed(g->view, p + 4 * words);
  return true;
}

// Places missing in one group are not missing in the other: all codes are read, added, and given their neighbours' where they do not count.
template <class T>
std::size_t AddUnlike(const FilledGroup& a, const FilledGroup& b, const Lanes lanes, bool negate_b, double width,
                      std::uint8_t* out, std::uint8_t* end) {
  const Tag<std::int32_t> d;
  Row<std::int32_t> rows[3];
  std::int32_t *qa = rows[0].at(), *qb = rows[1].at(), *q = rows[2].at();
  ReadCodes(a.codes, qa);
  ReadCodes(b.codes, qb);
  for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>) {
    const auto u = hn::Load(d, qa + i), v = hn::Load(d, qb + i);
    hn::Store(negate_b ? hn::Sub(u, v) : hn::Add(u, v), d, q + i);
  }
  Predictor p = a.codes.predictor > b.codes.predictor ? a.codes.predictor : b.codes.predictor;
  if (negate_b && p == Predictor::none_unsigned) p = Predictor::none_signed;
  fill_exceptions(lanes, q);
  if (p == Predictor::none_unsigned) {
    auto least = hn::Zero(d);
    for (std::size_t i = 0; i < kGroup; i += kLanes<std::int32_t>) least = hn::Min(least, hn::Load(d, q + i));
    if (!hn::AllTrue(d, hn::Eq(least, hn::Zero(d)))) return kDeclined;
  }
  const auto plus = [negate_b](std::int32_t x, std::int32_t y) {
    const auto u = static_cast<std::uint32_t>(x), v = static_cast<std::uint32_t>(y);
    return static_cast<std::int32_t>(negate_b ? u - v : u + v);
  };
  const std::int32_t base = plus(a.codes.base, b.codes.base), slope = plus(a.codes.slope, b.codes.slope);
  Row<std::int32_t> residuals;
  const std::int32_t* e = ResidualsFrom(order_of(p), q, residuals.at(), base, slope);
  return WriteGroup(p, base, slope, e, out, [&](std::uint8_t* at) {
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return write_exception_sums<T>({a.view, qa}, {b.view, qb}, negate_b, lanes, width, at, end);
  });
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
      return write_exception_sums<T>({ga.view, nullptr}, {gb.view, nullptr}, negate_b, lanes, width, p, end);
    });
  } else {
    words = AddUnlike<T>(ga, gb, lanes, negate_b, width, out, end);
  }
  if (words != kDeclined) tally->exceptions += static_cast<std::uint64_t>(places);
  return words;
}

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of a file that is included once for each target
