#include "model/profile/codec_probe.hpp"

#include <ctime>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"

namespace stretto::model {
namespace {

constexpr std::size_t kValues = std::size_t{32} << 10;
constexpr double kEps = 1.0 / 16;
constexpr int kRuns = 3;  // the first one warms up

double core_seconds() noexcept {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A smooth curve with noise of a few steps of the grid: about ratio 8.
std::vector<float> field(std::uint32_t seed) {
  std::vector<float> x(kValues);
  // Calls of std::sin would take longer than the codec.
  constexpr double step = 1.0 / 300;
  const double cosine = std::cos(step), sine = std::sin(step);
  double along = 1, across = 0;
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    const double noise = static_cast<double>(seed >> 8) / (1 << 24) - 0.5;
    value = static_cast<float>(40 * across + noise);
    const double next = along * cosine - across * sine;
    across = along * sine + across * cosine;
    along = next;
  }
  return x;
}

template <class Work>
bool least_of(double* seconds_a_byte, const Work& work) {
  double least = HUGE_VAL;
  for (int run = 0; run < kRuns; ++run) {
    const double begun = core_seconds();
    if (work() != Status::ok) return false;
    least = std::min(least, core_seconds() - begun);
  }
  *seconds_a_byte = std::max(least, 1e-9) / static_cast<double>(kValues * sizeof(float));
  return true;
}

CodecProbe measure(codec::Coding coding) {
  using codec::Type;
  const FloatEnvironment environment;
  codec::Options options;
  options.coding = coding;
  const std::vector<float> x = field(1);
  std::vector<float> y = field(2);
  std::vector<std::byte> a(codec::compress_bound(Type::f32, kValues)), b(a.size());
  std::vector<std::byte> sum(codec::combine_bound(Type::f32, kValues));
  std::size_t of_a = 0, of_b = 0, of_sum = 0;
  const auto stream = [](const std::vector<std::byte>& s, std::size_t n) { return std::span(s).first(n); };
  if (codec::compress(Type::f32, y.data(), kValues, kEps, b, &of_b, options) != Status::ok) return {};
  CodecProbe probe;
  const bool measured =
      least_of(&probe.compress,
               [&] { return codec::compress(Type::f32, x.data(), kValues, kEps, a, &of_a, options); }) &&
      least_of(&probe.decompress, [&] { return codec::decompress(stream(a, of_a), y.data(), kValues, options); }) &&
      least_of(&probe.add,
               [&] {
                 return codec::combine(codec::Combine::add, stream(a, of_a), stream(b, of_b), sum, &of_sum, options);
               }) &&
      least_of(&probe.fused,
               [&] { return codec::add_values(stream(b, of_b), x.data(), kValues, sum, &of_sum, options); });
  return measured ? probe : CodecProbe{};
}

}  // namespace

CodecProbe measure_codec(codec::Coding coding) noexcept {
  return value_or(CodecProbe{}, [coding] { return measure(coding); });
}

}  // namespace stretto::model
