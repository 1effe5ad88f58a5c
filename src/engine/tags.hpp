// A tag has run, number between the message's ranks, and signature:
//
//   number below kSignedMessages   0 | run | signature | number
//   others                         1 | run | number
//
// The number comes last so that carriers spread messages over connections. The signature covers the message's length
// and arguments that are equal on all ranks, and nothing else: different calls do not match (docs/architecture.md).
// Receives without one are posted after the first message from their peer (Plan).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace stretto::engine {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  std::uint64_t x = (hash ^ value) + 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Tags {
 public:
  static constexpr unsigned kNumberBits = 6;
  static constexpr std::uint32_t kSignedMessages = 1u << kNumberBits;
  static constexpr unsigned kMostLongBits = 20, kLeastRunBits = 4, kMostRunBits = 8;

  Tags() = default;
  // A power of two, at least 2^15.
  explicit Tags(std::uint64_t tags) noexcept : bits_(static_cast<unsigned>(std::bit_width(tags)) - 1) {
    run_bits_ = std::clamp((bits_ - 1 - kNumberBits) / 3, kLeastRunBits, kMostRunBits);
    long_bits_ = std::min(kMostLongBits, bits_ - 1 - run_bits_);
  }

  // The last tag is reserved: no number has all bits set.
  std::uint32_t most_messages() const noexcept { return (std::uint32_t{1} << long_bits_) - 1; }

  // Concurrent runs of a rank differ by less than this.
  std::uint64_t runs() const noexcept { return std::uint64_t{1} << run_bits_; }

  std::uint64_t tag(std::uint64_t run, std::uint32_t number, std::uint64_t signature) const noexcept {
    const std::uint64_t told = run & (runs() - 1);
    const unsigned rest = bits_ - 1 - run_bits_;
    if (number >= kSignedMessages) return std::uint64_t{1} << (bits_ - 1) | told << rest | number;
    const unsigned signature_bits = rest - kNumberBits;
    return told << rest | signature >> (64 - signature_bits) << kNumberBits | number;
  }

  // Number of words (words.hpp): no message of agreements has it.
  static constexpr std::uint32_t kWordNumber = kSignedMessages - 1;
  std::uint64_t word(std::uint64_t run) const noexcept { return tag(run, kWordNumber, mix(kWordNumber, run)); }

  bool may_be_of(std::uint64_t run, std::uint64_t tag) const noexcept {
    return (tag >> (bits_ - 1 - run_bits_) & (runs() - 1)) == (run & (runs() - 1));
  }

  std::uint32_t number(std::uint64_t tag) const noexcept {
    const unsigned rest = bits_ - 1 - run_bits_;
    const bool longer = tag >> (bits_ - 1) != 0;
    const std::uint64_t below = tag & ((std::uint64_t{1} << rest) - 1);
    return static_cast<std::uint32_t>(longer ? below : below & (kSignedMessages - 1));
  }

 private:
  unsigned bits_ = 0, run_bits_ = 0, long_bits_ = 0;
};

}  // namespace stretto::engine
