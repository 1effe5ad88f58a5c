#pragma once

#include <bit>

#include "codec/numbers/exact.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec {

template <class T>
class ExceptionReader {
 public:
  explicit ExceptionReader(const GroupView& g) noexcept : g_(g), at_(g.values) { measure(); }

  const std::uint8_t* bytes() const noexcept { return at_; }
  std::size_t size() const noexcept { return size_; }
  void next() noexcept {
    if (g_.uniform) return;
    at_ += size_;
    measure();
  }
  void add_to(ExactSum<T>& sum, bool negate) const noexcept {
    if (g_.sums)
      sum.read_add(at_, size_, negate);
    else
      sum.add(load<T>(at_), negate);
  }
  T value() const noexcept {
    if (!g_.sums) return load<T>(at_);
    ExactSum<T> sum;
    sum.read_add(at_, size_);
    return sum.value();
  }
  T mean(std::uint32_t divisor) const noexcept {
    if (!g_.sums) return static_cast<T>(static_cast<double>(load<T>(at_)) / divisor);
    ExactSum<T> sum;
    sum.read_add(at_, size_);
    return sum.mean(divisor);
  }

 private:
  void measure() noexcept {
    if (!g_.sums) {
      size_ = sizeof(T);
      return;
    }
    const auto left = static_cast<std::size_t>(g_.values + g_.values_bytes - at_);
    size_ = left ? exact_sum_bytes(at_, left, ExactSum<T>::kWords) : 0;
  }
  const GroupView& g_;
  const std::uint8_t* at_;
  std::size_t size_ = 0;
};

template <class F>
void for_each_exception(const Lanes lanes, F f) {
  for (int b = 0; b < kBlocks; ++b)
    for (std::uint32_t left = lanes[b]; left; left &= left - 1) f(kBlock * b + std::countr_zero(left));
}

}  // namespace stretto::codec
