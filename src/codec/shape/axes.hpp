#pragma once

#include <memory>

#include "codec/shape/differences.hpp"

namespace stretto::codec::shaped {

// Some of an array's groups, by whose bytes its axes are chosen.
class Sample {
 public:
  explicit Sample(std::uint64_t count) noexcept;
  // False without memory: no further calls.
  bool ready() const noexcept { return numbers_ && stream_; }

  // Estimated bytes of the array in dense chunks, with these differences.
  double integers(const Shape& shape, Axes axes, const std::int32_t* q, const Options& options) noexcept;
  // Estimated bytes of values, without a shape.
  double values(Type t, const void* x, double eps, const Options& options) noexcept;

  Axes choose(const Shape& shape, const std::int32_t* q, const Options& options, double* bytes) noexcept;

 private:
  std::uint64_t first_place(std::uint64_t i) const noexcept;
  int size(std::uint64_t first) const noexcept;
  double estimate(Type t, std::uint64_t n, double eps, Options options) noexcept;

  std::uint64_t count_, groups_, taken_;
  std::size_t stream_bytes_;
  std::unique_ptr<std::byte[]> numbers_, stream_;
};

}  // namespace stretto::codec::shaped
