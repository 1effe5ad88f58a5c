// Takes groups in fixed form; writes the chunk's shorter form.
#pragma once

#include "codec/dense/head.hpp"

namespace stretto::codec {
struct DenseKernels;
}

namespace stretto::codec::dense {

class Writer {
 public:
  void open(Type type, const DenseKernels* kernels) noexcept;
  // Room for any group.
  std::uint8_t* at() noexcept { return fixed_ + kLengths + fixed_bytes_; }
  std::size_t room() const noexcept { return kFixedRoom - fixed_bytes_; }
  void put(std::size_t words, int m) noexcept;
  int groups() const noexcept { return groups_; }
  void close() noexcept;
  const std::uint8_t* chunk() const noexcept { return dense_ ? chunk_ : fixed_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool dense() const noexcept { return dense_; }

 private:
  void scan(const std::uint8_t* group, std::size_t words, int m) noexcept;
  void close_dense(std::size_t fixed) noexcept;
  void begin() noexcept;

  static constexpr std::size_t kLengths = 2 * kChunk;
  static constexpr std::size_t kLowRoom = std::size_t{kChunk} * kGroup / 8 * (kMaxWidth - 1);
  static constexpr std::size_t kHeadsRoom = std::size_t{kChunk} * kMostHeadBytes;
  static constexpr std::size_t kFixedRoom = kChunk * 4 * kMaxGroupWords + kMaxGroupBytes;

  Type type_{};
  const DenseKernels* kernels_ = nullptr;
  int groups_ = 0;
  bool dense_ = false, worth_it_ = true;
  std::size_t fixed_bytes_ = 0, bytes_ = 0;
  std::int64_t base_ = 0;
  std::uint8_t* heads_end_ = nullptr;
  BitWriter low_{nullptr};
  Counts counts_;
  Tables tables_;
  States states_;
  Widths widths_[kChunk];
  alignas(64) std::uint8_t classes_[kChunk * kGroup];
  std::uint8_t
      chunk_[4 + kLowRoom + kMaxTableBytes + kHeadsRoom + kChunk * kMostWordBytes + kMaxSets * kStateBytes + 256];
  std::uint8_t heads_[kHeadsRoom];
  std::uint8_t fixed_[kLengths + kFixedRoom];
};

}  // namespace stretto::codec::dense
