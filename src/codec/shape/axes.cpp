#include "codec/shape/axes.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "codec/driver.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec::shaped {
namespace {

constexpr std::uint64_t kLeast = 6, kMost = 48, kShare = 16;  // of kShare groups one
constexpr double kWorthAnAxis = 0.99;

}  // namespace

Sample::Sample(std::uint64_t count) noexcept
    : count_(count),
      groups_(groups_of(count)),
      taken_(std::min(groups_, std::clamp(groups_ / kShare, kLeast, kMost))),
      stream_bytes_(std::max(compress_bound(Type::f64, taken_ * kGroup), compress_bound(Type::i64, taken_ * kGroup))),
      numbers_(new (std::nothrow) std::byte[taken_ * kGroup * sizeof(double)]),
      stream_(new (std::nothrow) std::byte[stream_bytes_]) {}

std::uint64_t Sample::first_place(std::uint64_t i) const noexcept {
  return (2 * i + 1) * groups_ / (2 * taken_) * kGroup;
}

int Sample::size(std::uint64_t first) const noexcept {
  return static_cast<int>(std::min<std::uint64_t>(kGroup, count_ - first));
}

double Sample::estimate(Type t, std::uint64_t n, double eps, Options options) noexcept {
  options.orders = orders_of(options, Coding::dense);
  options.coding = Coding::fixed;
  options.checksum = false;
  options.parallel = nullptr;
  std::size_t written = 0;
  double fixed = 0, dense = 0;
  if (compress(t, numbers_.get(), n, eps, {stream_.get(), stream_bytes_}, &written, options) != Status::ok) return 0;
  if (!estimate_dense({stream_.get(), written}, &fixed, &dense)) return 0;
  return dense / static_cast<double>(n) * static_cast<double>(count_);
}

double Sample::integers(const Shape& shape, Axes axes, const std::int32_t* q, const Options& options) noexcept {
  std::uint64_t n = 0;
  for (std::uint64_t i = 0; i < taken_; ++i) {
    const std::uint64_t first = first_place(i);
    differences_at(shape, axes, q, first, size(first), reinterpret_cast<std::int32_t*>(numbers_.get()) + n);
    n += static_cast<std::uint64_t>(size(first));
  }
  return estimate(Type::i32, n, 1, options);
}

double Sample::values(Type t, const void* x, double eps, const Options& options) noexcept {
  const std::size_t bytes = size_of(t);
  std::uint64_t n = 0;
  for (std::uint64_t i = 0; i < taken_; ++i) {
    const std::uint64_t first = first_place(i);
    std::memcpy(numbers_.get() + n * bytes, static_cast<const std::byte*>(x) + first * bytes,
                static_cast<std::size_t>(size(first)) * bytes);
    n += static_cast<std::uint64_t>(size(first));
  }
  return estimate(t, n, eps, options);
}

Axes Sample::choose(const Shape& shape, const std::int32_t* q, const Options& options, double* bytes) noexcept {
  Axes best = 0;
  *bytes = integers(shape, 0, q, options);
  for (int added = 0; added < kMostDifferences; ++added) {
    Axes better = best;
    double least = *bytes;
    for (int k = 0; k + 1 < shape.axes; ++k) {
      const auto axes = static_cast<Axes>(best | 1u << k);
      if (axes == best || shape.extent[k] == 1) continue;
      const double with = integers(shape, axes, q, options);
      if (with >= least) continue;
      least = with;
      better = axes;
    }
    if (least > kWorthAnAxis * *bytes) break;
    best = better;
    *bytes = least;
  }
  return best;
}

}  // namespace stretto::codec::shaped
