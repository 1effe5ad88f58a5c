// Dense chunks to groups in their fixed form, one after the other.
#pragma once

#include "codec/dense/head.hpp"

namespace stretto::codec {
struct DenseKernels;
}

namespace stretto::codec::dense {

class Reader {
 public:
  // Opens the chunk of `groups` groups at [begin, end), before which lies a header at least. False if it is malformed.
  bool open(const std::uint8_t* begin, const std::uint8_t* end, int groups, Type type,
            const DenseKernels* kernels) noexcept;
  // The next group, of m values. Its content stays until the next but one. False if it is malformed, or the last one and more follows.
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
  const std::uint8_t* head_ = nullptr;  // the next one
  std::int64_t base_ = 0;               // of the group before
  std::size_t words_ = 0;
  Decoder decoder_;
  Tables tables_;
  std::uint8_t buffer_[2][kMostHeadBytes + kMostPlaneBytes + 128];
};

}  // namespace stretto::codec::dense
