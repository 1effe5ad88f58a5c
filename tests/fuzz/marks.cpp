// Property: with any values, marks and bound, marked values keep their bits, and no other value decodes to a mark.
// Magnitudes from keep_from on keep their bits, too. All other values keep the bound. Every instruction set writes the
// reference's stream, and finds the ranges of the values with NaN in place of the marks.
#include <cmath>
#include <limits>

#include "bounds.hpp"
#include "common.hpp"

using namespace stretto;
using namespace stretto::codec;

namespace {

double number(Type, float x) { return x; }
double number(Type, double x) { return x; }
double number(Type t, std::uint16_t x) { return widened(t, x); }

template <class T>
T nan_of(Type t) {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return t == Type::f16 ? 0x7e00 : 0x7fc0;
}

// As a type holds it.
double rounded(Type t, double mark) {
  const auto narrow = static_cast<float>(mark);
  switch (t) {
    case Type::f16: return widen_f16(round_f16(narrow));
    case Type::bf16: return widen_bf16(round_bf16(narrow));
    case Type::f32: return narrow;
    case Type::f64:
    case Type::i32:
    case Type::i64: break;
  }
  return mark;
}

struct Marked {
  std::vector<double> marks;
  double keep_from = std::numeric_limits<double>::infinity();

  bool has(Type t, double x) const {
    return std::any_of(marks.begin(), marks.end(),
                       [&](double m) { return std::isfinite(rounded(t, m)) && x == rounded(t, m); });
  }
  Options options(Isa isa) const {
    Options o = in_parts(isa);
    o.marks = marks;
    o.keep_from = keep_from;
    return o;
  }
};

template <class T>
void require_same_ranges(Type t, const std::vector<T>& x, const Marked& marked, double above) {
  std::vector<T> others = x;
  for (auto& v : others)
    if (marked.has(t, number(t, v))) v = nan_of<T>(t);
  Ranges expected;
  const Status s = value_ranges(t, others.data(), others.size(), above, &expected, with(Isa::reference));
  for (Isa isa : {Isa::reference, Isa::portable, Isa::avx512}) {
    if (isa != Isa::reference && std::count(fast_isas().begin(), fast_isas().end(), isa) == 0) continue;
    Options o = marked.options(isa);
    o.keep_from = std::numeric_limits<double>::infinity();
    Ranges found;
    require(value_ranges(t, x.data(), x.size(), above, &found, o) == s,
            "ranges with marks have the status of those without");
    if (s != Status::ok) continue;
    const auto same = [](const Interval& a, const Interval& b) { return a.lo == b.lo && a.hi == b.hi; };
    require(same(found.all, expected.all) && same(found.below, expected.below) && found.ignored == expected.ignored,
            "ranges leave marks out");
  }
}

template <class T>
void keep_marks(Type t, Blob& blob) {
  double eps = std::fabs(static_cast<double>(blob.take<float>()));
  if (!std::isfinite(eps) || eps == 0) eps = 1e-3;
  Marked marked;
  const auto kinds = blob.take<std::uint8_t>();
  std::vector<std::size_t> places;  // of values that are marks, too
  for (int i = 0; i < 1 + (kinds & 3); ++i) {
    if (kinds & (4 << i))
      places.push_back(blob.take<std::uint8_t>());
    else
      marked.marks.push_back(blob.take<float>());
  }
  if (kinds & 64) marked.keep_from = std::fabs(static_cast<double>(blob.take<float>()));
  if (!(marked.keep_from > 0)) marked.keep_from = 1;
  const auto x = values<T>(blob);
  for (const std::size_t at : places)
    if (at < x.size()) marked.marks.push_back(number(t, x[at]));
  Stream s(compress_bound(t, x.size()));
  std::size_t written = 0;
  require(compress(t, x.data(), x.size(), eps, s, &written, marked.options(Isa::reference)) == Status::ok,
          "compress with marks succeeds within compress_bound");
  s.resize(written);
  require(validate(s) == Status::ok, "compress with marks writes valid streams");
  std::vector<T> y(x.size());
  require(decompress(s, y.data(), y.size()) == Status::ok, "what was compressed with marks decompresses");
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = number(t, x[i]), after = number(t, y[i]);
    require(marked.has(t, before) == marked.has(t, after), "marks are in the same places after as before");
    const bool stays = marked.has(t, before) || (std::isfinite(before) && std::fabs(before) >= marked.keep_from);
    require(same_bits(x[i], y[i]) || (!stays && kept(t, x[i], y[i], eps)),
            "marks keep their bits, other values the bound");
  }
  for (const Isa isa : fast_isas()) {
    Stream again(compress_bound(t, x.size()));
    require(compress(t, x.data(), x.size(), eps, again, &written, marked.options(isa)) == Status::ok,
            "compress with marks succeeds on every instruction set");
    again.resize(written);
    require(again == s, "one stream with marks on every instruction set");
  }
  require_same_ranges(t, x, marked, marked.keep_from);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Blob blob(data, size);
  of_chosen_type(blob, [&](auto value, Type type, bool) {
    if constexpr (!std::is_same_v<decltype(value), std::int32_t> && !std::is_same_v<decltype(value), std::int64_t>)
      keep_marks<decltype(value)>(type, blob);
  });
  return 0;
}
