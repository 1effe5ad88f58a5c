#include <cmath>
#include <cstring>
#include <limits>

#include "codec/numbers/half.hpp"
#include "codec/shape/view.hpp"
#include "golden.hpp"

namespace stretto::codec {
namespace {

const Options kReference = with(Isa::reference);

template <class T, class F>
std::vector<T> values(std::size_t n, F f) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(f(static_cast<double>(i)));
  return x;
}

template <class T>
void add_floats(const std::string& suffix, std::map<std::string, Stream>* out) {
  auto& all = *out;
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const auto put = [&](const std::string& name, const std::vector<T>& x, double eps) {
    return all[name + suffix] = compressed(x, eps, kReference);
  };
  const auto add = [](const Stream& a, const Stream& b) { return combined(Combine::add, a, b, kReference); };
  Random r(1);

  put("empty", {}, 0.5);
  put("one_value", {T(-3.25)}, 0.01);
  put("zeros", std::vector<T>(300), 0.5);
  put("constant", std::vector<T>(200, T(7.5)), 0.01);
  put("unsigned", values<T>(150, [&](double) { return r.below(100); }), 1);
  put("signed", values<T>(150, [&](double) { return static_cast<double>(r.below(100)) - 50; }), 1);
  put("first_difference", values<T>(150, [](double i) { return 100 + i * 3 + (static_cast<int>(i) % 7 == 3); }), 0.5);
  put("second_difference", values<T>(150, [](double i) { return i * i * 0.5 - 900; }), 0.5);
  put("long_base", values<T>(100, [](double i) { return 1e6 + i * 0.25; }), 0.01);
  put("widths_in_bytes", values<T>(130, [&](double i) { return i < 40 ? r.below(1u << 18) : r.below(4); }), 0.5);
  put("widths_masked_nibbles", values<T>(300, [](double i) { return i == 170 ? 100 : 0; }), 0.5);
  put("widths_masked_bytes", values<T>(300, [](double i) { return i == 170 ? 100000000 : 0; }), 0.5);
  put("tail_of_three", values<T>(1027, [](double i) { return i < 1000 ? 0 : i * 0.25; }), 0.5);
  const auto smooth = values<T>(120, [](double i) { return i * (i - 120) * 0.01; });
  const Stream base = put("smooth", smooth, 0.01);

  auto x = smooth;
  for (const std::size_t i : {0, 1, 2, 40, 41, 119}) x[i] = static_cast<T>(1e20);
  const Stream fills = put("exceptions_runs_uniform", x, 0.01);
  for (const std::size_t i : {1, 40}) x[i] = -inf;
  x[77] = static_cast<T>(3e30);
  const Stream mixed = put("exceptions_runs", x, 0.01);
  x = smooth;
  for (std::size_t i = 32; i < 120; ++i)
    if (i >= 96 || i % 2) x[i] = static_cast<T>(1e20 + static_cast<double>(i) * 1e15);
  const Stream lanes = put("exceptions_lanes", x, 0.01);
  x = smooth;
  for (std::size_t i = 50; i < 90; ++i) x[i] = nan;
  const Stream holes = put("exceptions_quiet_nan", x, 0.01);
  put("exceptions_everywhere", std::vector<T>(70, nan), 0.01);
  x = values<T>(620, [](double i) { return i > 300 && i < 600 ? 1e25 : i * 0.125; });
  put("exceptions_long_run", x, 0.25);
  put("verbatim_group", values<T>(30, [&](double) { return 1e30 * r.symmetric(); }), 0.01);
  x.assign(24, 0);
  for (auto& v : x) {
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const U u = static_cast<U>(r.bits());
    std::memcpy(&v, &u, sizeof v);
  }
  put("any_bits", x, 1e-3);
  put("denormals", values<T>(60, [](double i) { return std::numeric_limits<T>::denorm_min() * i * 3; }),
      static_cast<double>(std::numeric_limits<T>::denorm_min()) * 2);
  const Stream wide = put("large_codes", std::vector<T>(90, T(1500)), 5e-7);

  all["sum_narrow" + suffix] = add(base, scaled(base, 3, kReference));
  all["sum_wide" + suffix] = add(wide, wide);
  all["sum_of_exceptions" + suffix] = add(fills, fills);
  all["sum_of_other_places" + suffix] = add(add(fills, lanes), base);
  all["sum_with_specials" + suffix] = add(add(mixed, holes), scaled(mixed, -1, kReference));
  all["scaled" + suffix] = scaled(lanes, -3, kReference);
  all["difference" + suffix] = combined(Combine::subtract, base, fills, kReference);
  all["minimum" + suffix] = combined(Combine::min, base, mixed, kReference);
  all["maximum" + suffix] = combined(Combine::max, holes, lanes, kReference);
  all["minimum_of_sums" + suffix] =
      combined(Combine::min, add(fills, base), add(fills, scaled(base, -1, kReference)), kReference);
  all["slice" + suffix] = sliced(mixed, 30, 60, kReference);
  all["joined" + suffix] = joined(base, mixed, kReference);
  all["average" + suffix + ".mean4"] = all["average_of_codes" + suffix + ".mean7"] = all["sum_narrow" + suffix];
  all["average_of_wide_codes" + suffix + ".mean3"] = all["sum_wide" + suffix];
  all["average_of_exceptions" + suffix + ".mean3"] = all["sum_of_other_places" + suffix];
  Options o = kReference;
  o.checksum = true;
  all["checksum" + suffix] = compressed(smooth, 0.01, o);

  if (sizeof(T) == 4) return;
  // The rest does not depend on the type.
  for (const char* name :
       {"zeros", "signed", "tail_of_three", "widths_masked_nibbles", "widths_masked_bytes", "widths_in_bytes",
        "exceptions_long_run", "constant", "maximum", "minimum", "minimum_of_sums", "joined", "checksum", "difference",
        "slice", "sum_of_exceptions", "exceptions_runs"})
    all.erase(name + suffix);
}

template <class T>
void add_integers(const std::string& suffix, std::map<std::string, Stream>* out) {
  auto& all = *out;
  using L = std::numeric_limits<T>;
  all["ramp" + suffix] = compressed(values<T>(100, [](double i) { return 1000 - 7 * i; }), 0, kReference);
  all["extremes" + suffix] = compressed(std::vector<T>{L::min(), L::max(), 0, -1, L::max(), L::min()}, 0, kReference);
  Random r(2);
  std::vector<T> x(60);
  for (auto& v : x) v = static_cast<T>(r.bits());
  all["random" + suffix] = compressed(x, 0, kReference);
  const Stream ramp = all["ramp" + suffix];
  all["sum" + suffix] = combined(Combine::add, ramp, scaled(ramp, -5, kReference), kReference);
  all["average" + suffix + ".mean7"] = ramp;
}

void add_halves(std::map<std::string, Stream>* out) {
  std::vector<std::uint16_t> x;
  for (std::uint32_t u = 0; u < 65536; u += 523) x.push_back(static_cast<std::uint16_t>(u));
  for (const std::uint16_t u : {0x7c00, 0xfc00, 0x7c01, 0xfe00, 0x7f80, 0xff81}) x.push_back(u);
  std::vector<std::uint16_t> small(130);
  for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<std::uint16_t>(0x3c00 + i);
  for (const Type t : {Type::f16, Type::bf16}) {
    const std::string suffix = std::string("_") + name(t);
    (*out)["all_kinds" + suffix] = compress_raw(t, x.data(), x.size(), 0.25, kReference);
    const Stream a = compress_raw(t, small.data(), small.size(), 1e-3, kReference);
    (*out)["smooth" + suffix] = a;
    (*out)["sum" + suffix] = combined(Combine::add, a, a, kReference);
  }
}

// Version 2.
void add_dense(std::map<std::string, Stream>* out) {
  auto& all = *out;
  Options o = kReference;
  o.coding = Coding::dense;
  o.orders = Coding::fixed;
  Random r(21);
  // Mostly small steps, now and then a large one: dense chunks of blocks of many widths.
  const auto walk = [&r](std::size_t n, int bits) {
    std::vector<double> x(n);
    double v = 0;
    for (auto& e : x) {
      const auto reach = r.below(20) ? r.below(4) : r.below(static_cast<std::uint64_t>(bits) + 1);
      e = v += static_cast<double>(r.below(std::uint64_t{1} << reach)) * (r.below(2) ? 1 : -1);
    }
    return x;
  };
  const auto singles = [](const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); };
  all["dense_empty_float32"] = compressed(std::vector<float>{}, 0.5, o);
  all["dense_one_value_float32"] = compressed(std::vector<float>{2}, 0.5, o);
  all["dense_zeros_of_two_chunks_float32"] = compressed(std::vector<float>(70000), 0.5, o);
  const Stream a = all["dense_walk_float32"] = compressed(singles(walk(3000, 12)), 0.5, o);
  const Stream b = compressed(singles(walk(3000, 3)), 0.5, o);
  all["dense_sum_float32"] = combined(Combine::add, a, b, o);
  all["dense_average_float32.mean3"] = combined(Combine::add, a, combined(Combine::add, a, b, o), o);
  all["dense_walk_float64"] = compressed(walk(1500, 28), 0.5, o);
  auto x = walk(2048, 6);
  for (std::size_t i = 0; i < 1024; ++i) x[i] = 1e300 * r.symmetric();
  for (std::size_t i = 1100; i < 1200; ++i) x[i] = 1e300;
  const Stream mixed = all["dense_verbatim_group_float64"] = compressed(x, 0.5, o);
  x = walk(2048, 6);
  all["dense_sum_of_exceptions_float64"] = combined(Combine::add, mixed, compressed(x, 0.5, o), o);
  for (auto& v : x) v += 1e10;
  all["dense_wide_float64"] = compressed(x, 0.5, o);
  std::vector<float> peaks(3000);
  for (auto& v : peaks) v = r.below(30) ? 0 : static_cast<float>(r.below(5000));
  o.checksum = true;
  all["dense_unsigned_checksum_float32"] = compressed(peaks, 0.5, o);
  o.checksum = false;
  std::vector<std::int64_t> n(1500);
  for (auto& v : n) v = static_cast<std::int64_t>(r.below(50) ? r.below(9) : r.bits() >> r.below(64));
  all["dense_int64"] = compressed(n, 0, o);
  std::vector<std::int32_t> m(1500);
  for (auto& v : m) v = static_cast<std::int32_t>(r.below(40) ? r.below(9) : r.bits() >> (32 + r.below(32)));
  all["dense_int32"] = compressed(m, 0, o);
  std::vector<std::uint16_t> halves(26000);  // two sets of states
  for (auto& v : halves) v = static_cast<std::uint16_t>(0x3c00 + (r.below(12) ? r.below(4) : r.below(200)));
  all["dense_two_sets_float16"] = compress_raw(Type::f16, halves.data(), halves.size(), 1e-3, o);
  // Of the orders of dense streams: second, first and none, and with a short last group.
  o.orders = Coding::automatic;
  std::vector<float> lines(4300);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double v = i < 1100   ? 0.02 * std::pow(static_cast<double>(i % 512) - 256, 2)
                     : i < 2200 ? static_cast<double>(i) / 2
                                : 4;
    lines[i] = static_cast<float>(r.below(12) ? v : v + static_cast<double>(r.below(64)));
  }
  all["dense_orders_float32"] = compressed(lines, 0.5, o);
  lines.resize(3072 + 50);
  all["dense_orders_of_a_short_group_float32"] = compressed(lines, 0.5, o);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = static_cast<std::int32_t>((r.below(12) ? 3 : -2147483600) + 5 * i);
  all["dense_orders_int32"] = compressed(m, 0, o);
}

// Version 3.
void add_shaped(std::map<std::string, Stream>* out) {
  auto& all = *out;
  Options o = kReference;
  o.orders = Coding::fixed;
  Random r(31);
  // Rough along each row, and nearly equal from row to row and from plane to plane.
  const auto field = [&r](std::size_t planes, std::size_t rows, std::size_t columns) {
    std::vector<double> x;
    std::vector<double> first(columns);
    for (auto& v : first) v = static_cast<double>(r.below(4000)) * 0.25;
    for (std::size_t p = 0; p < planes; ++p)
      for (std::size_t i = 0; i < rows; ++i)
        for (const double v : first)
          x.push_back(v + static_cast<double>(p * 7 + i * i % 31) + static_cast<double>(r.below(4)) * 0.25);
    return x;
  };
  const auto singles = [](const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); };
  const auto put = [&](const std::string& name, Type t, const void* x, std::initializer_list<std::uint64_t> extents,
                       double eps) {
    Shape shape;
    for (const std::uint64_t extent : extents) shape.extent[shape.axes++] = extent;
    std::uint64_t count = 1;
    for (const std::uint64_t extent : extents) count *= extent;
    Stream s(compress_bound(t, count));
    std::size_t written = 0;
    EXPECT_EQ(compress_shaped(t, x, shape, eps, s, &written, o), Status::ok) << message();
    s.resize(written);
    EXPECT_TRUE(shaped::is_shaped(s)) << name;
    all[name] = s;
  };
  auto x = field(1, 40, 50);
  put("shaped_rows_float32", Type::f32, singles(x).data(), {40, 50}, 0.25);
  put("shaped_rows_float64", Type::f64, x.data(), {40, 50}, 0.25);
  o.checksum = true;
  x = field(4, 20, 33);
  put("shaped_planes_checksum_float32", Type::f32, singles(x).data(), {4, 20, 33}, 0.25);
  o.checksum = false;
  const auto missing = [&x](bool alike) {
    auto y = x;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (i % 33 < 9) y[i] = alike || i % 5 ? 1e20 : -3e25 * static_cast<double>(i);
    return y;
  };
  put("shaped_one_exact_value_float32", Type::f32, singles(missing(true)).data(), {4, 20, 33}, 0.25);
  put("shaped_exact_values_float32", Type::f32, singles(missing(false)).data(), {2, 2, 20, 33}, 0.25);
  put("shaped_exact_values_float64.mean3", Type::f64, missing(false).data(), {4, 20, 1, 33}, 0.25);
  for (auto& v : x) v *= 1 << 15;
  put("shaped_large_codes_float32", Type::f32, singles(x).data(), {4, 20, 33}, 0.25);
  std::vector<std::int32_t> n(x.size());
  for (std::size_t i = 0; i < n.size(); ++i)
    n[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x[i]) * 77));
  put("shaped_wrapped_int32", Type::i32, n.data(), {4, 20, 33}, 0);
  std::vector<std::int64_t> m(n.begin(), n.end());
  put("shaped_wrapped_int64.mean7", Type::i64, m.data(), {80, 33}, 0);
  x = field(1, 40, 50);
  std::vector<std::uint16_t> halves(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) halves[i] = round_f16(static_cast<float>(x[i] / 4));
  halves[77] = 0x7c01;
  put("shaped_float16", Type::f16, halves.data(), {40, 50}, 0.125);
}

}  // namespace

void add_accepted(std::map<std::string, Stream>* all) {
  add_floats<float>("_float32", all);
  add_floats<double>("_float64", all);
  add_integers<std::int32_t>("_int32", all);
  add_integers<std::int64_t>("_int64", all);
  add_halves(all);
  add_dense(all);
  add_shaped(all);
  const std::vector<double> wide{1e9, -1e9, 2e9, 3e9, 1e9 + 1};
  (*all)["wide_group_float64"] = compressed(wide, 0.1, kReference);
  std::vector<double> ramp(100);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 1e10 + static_cast<double>(i) * 12345;
  (*all)["wide_differences_float64"] = compressed(ramp, 0.1, kReference);
  Stream sum = compressed(std::vector<double>(3, 4e13), 0.1, kReference);
  for (int i = 0; i < 8; ++i) sum = combined(Combine::add, sum, sum, kReference);
  (*all)["codes_beyond_53_bits_float64"] =
      combined(Combine::add, sum, compressed(std::vector<double>{0.2, 0.4, 0.6}, 0.1, kReference), kReference);
  // Means of sums beyond the largest number: of codes, and of values that no code holds.
  const auto twice = [](const Stream& a) { return combined(Combine::add, a, a, kReference); };
  std::vector<double> large(100, 1.5e308);
  (*all)["average_of_large_codes_float64.mean2"] = twice(compressed(large, 1e300, kReference));
  for (std::size_t i = 0; i < large.size(); i += 3) large[i] = -1e300;
  (*all)["average_of_large_sums_float64.mean2"] = twice(compressed(large, 1e291, kReference));
  (*all)["zeros_of_two_chunks_float32"] = compressed(std::vector<float>(70000), 0.5, kReference);
  (*all)["worked_example_float32"] =
      compressed(std::vector<float>(std::begin(kExample), std::end(kExample)), kExampleEps, kReference);
}

}  // namespace stretto::codec
