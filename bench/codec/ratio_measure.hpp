// Compression ratio of an array at an absolute bound, and the error of its decoding. bench_ratio reports these, and
// tests/bench/ratio_test.cpp checks them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bench/codec/call.hpp"
#include "timing/data.hpp"

namespace stretto::bench {

struct Measured {
  double ratio = 0;  // original bytes over those of the stream, including header and index
  double error_over_bound = 0;
  std::uint64_t exceptions = 0;
};

template <class T>
Measured measure(std::span<const T> x, double eps) {
  constexpr codec::Type type = timing::type_of<T>();
  const std::size_t room = codec::compress_bound(type, x.size());
  const auto out = std::make_unique_for_overwrite<std::byte[]>(room);
  const auto y = std::make_unique_for_overwrite<T[]>(x.size());
  std::size_t written = 0;
  codec::Options options;  // the magnitude of real values, known with a bound relative to the range
  for (const T v : x)
    if (std::fabs(v) < 1e19) options.magnitude = std::max(options.magnitude, static_cast<double>(std::fabs(v)));
  require(codec::compress(type, x.data(), x.size(), eps, {out.get(), room}, &written, options), "compress");
  require(codec::decompress({out.get(), written}, y.get(), x.size()), "decompress");
  codec::Info info;
  require(codec::inspect({out.get(), written}, &info), "inspect");
  const double worst = worst_error<T>(x, {y.get(), x.size()});
  return {static_cast<double>(x.size_bytes()) / static_cast<double>(written), worst / eps, info.exceptions};
}

}  // namespace stretto::bench
