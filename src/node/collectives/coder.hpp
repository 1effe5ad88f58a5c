#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "codec/codec.hpp"
#include "node/collectives/bounded.hpp"

namespace stretto::node {

// Bytes of a slot for streams: a longer chunk overlaps less of its coding with the peers'.
inline std::size_t room_of_streams(const Group& group) noexcept {
  return std::min<std::size_t>(group.slot_bytes(), 128 * 1024);
}

class Coder {
 public:
  // Values are cut at multiples, so that the codec's groups stay whole.
  static constexpr std::size_t kGrain = 1024;

  // `pool` and `streamed` outlive it.
  Coder(const payload::Spec& spec, payload::Pool& pool, StreamCounts& streamed) noexcept;

  std::size_t bytes(std::size_t count) const noexcept { return count * size_; }

  // Bytes, in whole cache lines, for a stream or raw values.
  std::size_t room(std::size_t count) const noexcept;

  // Grains that fit in each of `regions` regions of `room` bytes; may be 0.
  std::size_t grains(std::size_t room, std::size_t regions) const noexcept {
    return room / regions / this->room(kGrain);
  }

  Status compress(const std::byte* values, std::size_t count, codec::MutableBytes to) noexcept;

  struct Sum {
    codec::Bytes stream;
    payload::Buffer store;  // empty if the stream lies in `to`
  };
  Status sum(const std::byte* own, std::span<const codec::Bytes> others, std::size_t count, codec::MutableBytes to,
             Sum* sum) noexcept;

  Status decode(codec::Bytes stream, std::byte* to, std::size_t count, std::uint32_t divisor) noexcept;

  void count(std::size_t raw, std::size_t travelled) noexcept;

 private:
  template <class Make>
  Status make(codec::MutableBytes to, std::size_t usual, std::size_t most, const Make& make, Sum* made) noexcept;

  const payload::Spec& spec_;
  payload::Pool& pool_;
  StreamCounts& streamed_;
  codec::Type type_;
  codec::Combine combine_;
  codec::Options options_;
  std::size_t size_;
};

}  // namespace stretto::node
