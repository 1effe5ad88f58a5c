#include "timing/data.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>

#include <fmt/core.h>

namespace stretto::timing {
namespace {

constexpr std::size_t kSide = 128;  // of synthetic fields
constexpr double kFill = 1e20;

template <class T>
void sines(std::size_t side, std::span<T> out) {
  std::mt19937_64 made(3);
  std::normal_distribution<double> noise(0, 1e-3);
  const auto wave = [](std::size_t i, double period) {
    return std::sin(2 * 3.14159265358979 * static_cast<double>(i) / period);
  };
  for (std::size_t row = 0; row * side < out.size(); ++row) {
    const double outer = wave(row / side, 149) * wave(row % side, 113);
    for (std::size_t i = 0; i < std::min(side, out.size() - row * side); ++i) {
      out[row * side + i] = static_cast<T>(outer * wave(i, 97) + noise(made));
    }
  }
}

// Smooth in two directions with a jagged coast of fill values, like a map of the sea.
template <class T>
Field<T> map_with_fills() {
  Field<T> f{"computed_map_fills", std::vector<T>(kSide * kSide * kSide)};
  sines<T>(kSide, f.values);
  for (std::size_t i = 0; i < f.values.size(); ++i) {
    const double along = static_cast<double>(i % kSide), row = static_cast<double>(i / kSide);
    f.values[i] += T{280};
    if (along < 40 + 25 * std::sin(row / 9) + 6 * std::sin(row * 1.7)) f.values[i] = static_cast<T>(kFill);
  }
  return f;
}

// Mostly zeros with bursts of values over many decades, like rain.
template <class T>
Field<T> bursts() {
  Field<T> f{"computed_bursts", std::vector<T>(kSide * kSide * kSide)};
  std::mt19937_64 made(5);
  std::normal_distribution<double> normal;
  for (std::size_t row = 0; row < kSide * kSide; ++row) {
    const double strength = normal(made) > 1 ? std::exp(4 * normal(made)) : 0;
    for (std::size_t i = kSide / 3; i < kSide / 2; ++i) {
      f.values[row * kSide + i] = static_cast<T>(strength * std::abs(normal(made)));
    }
  }
  return f;
}

template <class T>
std::vector<Field<T>> computed_fields() {
  std::vector<Field<T>> all;
  for (const Kind kind : kKinds) {
    all.push_back({fmt::format("computed_{}", name(kind)), std::vector<T>(kSide * kSide * kSide)});
    compute<T>(kind, all.back().values);
  }
  all.push_back(bursts<T>());
  all.push_back(map_with_fills<T>());
  return all;
}

struct Stored {
  const char* name;
  const char* file;
  std::size_t count;
  codec::Type type;
};

constexpr Stored kStored[] = {
    {"marmousi_rtm", "marmousi_rtm_12x286x941.f32", 12UL * 286 * 941, codec::Type::f32},
    {"glosea4_ts", "glosea4_ts_13x6x145x192.f32", 13UL * 6 * 145 * 192, codec::Type::f32},
    {"gpt_grad_step10", "gpt_grad_step10_8x443008.f32", 8UL * 443008, codec::Type::f32},
    {"les_wmag", "les_wmag_91x91x91.f32", 91UL * 91 * 91, codec::Type::f32},
    {"ostia_sst", "ostia_sst_54x18x432.f32", 54UL * 18 * 432, codec::Type::f32},
    {"canesm5_siconc", "canesm5_siconc_12x291x360.f32", 12UL * 291 * 360, codec::Type::f32},
    {"wrf_qrain_qcloud", "wrf_qrain_qcloud_2x4x14x48x48.f32", 2UL * 4 * 14 * 48 * 48, codec::Type::f32},
    {"marmousi_vp", "marmousi_vp_301x941.f64", 301UL * 941, codec::Type::f64},
};

template <class T>
std::vector<T> load(const std::filesystem::path& path, std::size_t count) {
  std::vector<T> values(count);
  std::ifstream in(path, std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
  in.read(reinterpret_cast<char*>(values.data()), bytes);
  if (in.gcount() != bytes || in.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(fmt::format("{} does not have {} bytes", path.string(), bytes));
  }
  return values;
}

}  // namespace

const char* name(Kind kind) {
  switch (kind) {
    case Kind::walk: return "walk";
    case Kind::normal: return "normal";
    case Kind::sines: return "sines";
  }
  return "";
}

template <class T>
void compute(Kind kind, std::span<T> out) {
  switch (kind) {
    case Kind::walk: {
      std::mt19937_64 made(1);
      std::normal_distribution<double> step;
      double at = 0;
      for (T& value : out) value = static_cast<T>(at += step(made));
      return;
    }
    case Kind::normal: {
      std::mt19937_64 made(2);
      std::normal_distribution<double> any;
      for (T& value : out) value = static_cast<T>(any(made));
      return;
    }
    case Kind::sines: return sines(static_cast<std::size_t>(std::lround(std::cbrt(out.size()))), out);
  }
}

template <>
std::vector<Field<float>> fields(const std::string& directory) {
  std::vector<Field<float>> all;
  for (const Stored& stored : kStored) {
    const std::filesystem::path path = std::filesystem::path(directory) / stored.file;
    if (directory.empty() || !std::filesystem::exists(path)) continue;
    if (stored.type == codec::Type::f32) {
      all.push_back({stored.name, load<float>(path, stored.count)});
    } else {
      const std::vector<double> exact = load<double>(path, stored.count);
      all.push_back({stored.name, {exact.begin(), exact.end()}});
    }
  }
  return all.empty() ? computed_fields<float>() : all;
}

template <>
std::vector<Field<double>> fields(const std::string& directory) {
  std::vector<Field<double>> all;
  for (const Stored& stored : kStored) {
    const std::filesystem::path path = std::filesystem::path(directory) / stored.file;
    if (stored.type == codec::Type::f64 && !directory.empty() && std::filesystem::exists(path)) {
      all.push_back({stored.name, load<double>(path, stored.count)});
    }
  }
  if (all.empty()) all = computed_fields<double>();
  for (Field<double>& field : all) field.name += "_f64";
  return all;
}

const char* name(Integers kind) {
  switch (kind) {
    case Integers::counters: return "counters";
    case Integers::times: return "times";
    case Integers::small: return "small";
    case Integers::wide: return "wide";
  }
  return "";
}

template <class T>
std::vector<T> integers(Integers kind, std::size_t count) {
  constexpr bool kLong = sizeof(T) == 8;
  std::mt19937_64 made(7);
  const auto bits = [&made](int n) { return static_cast<std::int64_t>(made() >> (64 - n)); };
  std::vector<T> x(count);
  std::int64_t counter = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = static_cast<std::int64_t>(i);
    switch (kind) {
      case Integers::counters: x[i] = static_cast<T>(counter += bits(4)); break;
      case Integers::times:
        x[i] =
            static_cast<T>((kLong ? 1'700'000'000'000'000'000 + n * 1'000'000 : 1'700'000'000 + n % 400'000 * 1'000) +
                           bits(kLong ? 10 : 6));
        break;
      case Integers::small: x[i] = static_cast<T>(bits(7)); break;
      case Integers::wide: x[i] = static_cast<T>(bits(kLong ? 40 : 28) - (std::int64_t{1} << (kLong ? 39 : 27))); break;
    }
  }
  return x;
}

template <class T>
bool is_data(T x) {
  return std::abs(x) < static_cast<T>(kFill / 10);
}

template <class T>
double range_of(std::span<const T> values) {
  T low = std::numeric_limits<T>::infinity(), high = -low;
  for (const T x : values) {
    if (!is_data(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return static_cast<double>(high) - static_cast<double>(low);
}

template <class T>
bool has_gaps(std::span<const T> values) {
  return !std::all_of(values.begin(), values.end(), is_data<T>);
}

template <class T>
std::vector<T> without_gaps(std::vector<T> values) {
  for (T& x : values) {
    if (!is_data(x)) x = 0;
  }
  return values;
}

template <class T>
void tile(std::span<const T> values, std::size_t start, std::span<T> out) {
  std::size_t from = start % values.size();
  for (std::size_t at = 0; at < out.size(); from = 0) {
    const std::size_t n = std::min(values.size() - from, out.size() - at);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), n, out.begin() + static_cast<std::ptrdiff_t>(at));
    at += n;
  }
}

#define STRETTO_INSTANTIATE(T)                     \
  template void compute<T>(Kind, std::span<T>);    \
  template bool is_data<T>(T);                     \
  template double range_of<T>(std::span<const T>); \
  template bool has_gaps<T>(std::span<const T>);   \
  template std::vector<T> without_gaps<T>(std::vector<T>);
STRETTO_INSTANTIATE(float)
STRETTO_INSTANTIATE(double)
#undef STRETTO_INSTANTIATE
template void tile<float>(std::span<const float>, std::size_t, std::span<float>);
template void tile<double>(std::span<const double>, std::size_t, std::span<double>);
template void tile<std::int32_t>(std::span<const std::int32_t>, std::size_t, std::span<std::int32_t>);
template void tile<std::int64_t>(std::span<const std::int64_t>, std::size_t, std::span<std::int64_t>);
template std::vector<std::int32_t> integers<std::int32_t>(Integers, std::size_t);
template std::vector<std::int64_t> integers<std::int64_t>(Integers, std::size_t);

}  // namespace stretto::timing
