#pragma once

#include "codec/dense/head.hpp"

namespace stretto::codec {
struct DenseKernels;
}

namespace stretto::codec::dense {

class Reader {
 public:
  // At least a header precedes [begin, end).
  bool open(const std::uint8_t* begin, const std::uint8_t* end, int groups, Type type,
            const DenseKernels* kernels) noexcept;
  // Reads a group of m values, which stays until the next call but one. False if it is malformed, or the last and more
  // follows.
  bool next(int m) noexcept;
  const std::uint8_t* group() const noexcept { return buffer_[turn_]; }
  std::size_t words() const noexcept { return words_; }
  const std::uint8_t* readable_end() const noexcept { return buffer_[turn_] + sizeof buffer_[0]; }

 private:
  bool at_end() const noexcept;

  Type type_{};
  const DenseKernels* kernels_ = nullptr;
  int left_ = 0;  // groups
  int turn_ = 0;
  const std::uint8_t* head_ = nullptr;
  std::int64_t base_ = 0;
  std::size_t words_ = 0;
  Decoder decoder_;
  Tables tables_;
  std::uint8_t buffer_[2][kMostHeadBytes + kMostPlaneBytes + 128];
};

}  // namespace stretto::codec::dense
