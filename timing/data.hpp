// Data for measuring the codec: three synthetic kinds of any length, and real fields, tiled to any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "codec/codec.hpp"

namespace stretto::timing {

template <class T>
struct Field {
  std::string name;
  std::vector<T> values;  // including fill values and NaN
};

template <class T>
constexpr codec::Type type_of() {
  if constexpr (std::is_integral_v<T>) return sizeof(T) == 4 ? codec::Type::i32 : codec::Type::i64;
  return sizeof(T) == 4 ? codec::Type::f32 : codec::Type::f64;
}

// `walk`: a random walk with steps of N(0, 1). `normal`: N(0, 1). `sines`: a product of sines on a cube (row-major, its
// side the cube root of the count) plus a thousandth of noise.
enum class Kind : std::uint8_t { walk, normal, sines };
inline constexpr Kind kKinds[] = {Kind::walk, Kind::normal, Kind::sines};
const char* name(Kind kind);

// `counters`: sums of steps of 0 to 15. `times`: 1.7e9 (64 bits: 1.7e18) and multiples of 1,000 (a million) with some
// jitter. `small`: noise of 7 bits. `wide`: noise of 28 bits (64 bits: 40).
enum class Integers : std::uint8_t { counters, times, small, wide };
inline constexpr Integers kIntegers[] = {Integers::counters, Integers::times, Integers::small, Integers::wide};
const char* name(Integers kind);
template <class T>
std::vector<T> integers(Integers kind, std::size_t count);

// Below, T is float or double, unless stated.
template <class T>
void compute(Kind kind, std::span<T> out);

// The fields of `directory`, in the order of docs/measurements.md. float32: all fields (float64 files are rounded).
// float64: those stored as float64, with the suffix `_f64`. Without files: synthetic stand-ins of the same kinds, named
// `computed_...`. Throws std::runtime_error for a file of the wrong length.
template <class T>
std::vector<Field<T>> fields(const std::string& directory);
template <>
std::vector<Field<float>> fields(const std::string& directory);
template <>
std::vector<Field<double>> fields(const std::string& directory);

// True if x is a number, and not a huge value that marks missing data (1e20 and the like).
template <class T>
bool is_data(T x);

// Largest minus smallest of the elements that are data. Requires one.
template <class T>
double range_of(std::span<const T> values);

template <class T>
bool has_gaps(std::span<const T> values);

// Replaces everything that is not data by 0.
template <class T>
std::vector<T> without_gaps(std::vector<T> values);

// Fills `out` with repeated `values`, starting with values[start % size]. Requires a value. T may be an integer.
template <class T>
void tile(std::span<const T> values, std::size_t start, std::span<T> out);

}  // namespace stretto::timing
