// The codec as bounded collectives use it: streams made in slots, sums of streams that lie in slots.
#pragma once

#include <cstddef>
#include <span>

#include "codec/codec.hpp"
#include "node/collectives/bounded.hpp"

namespace stretto::node {

class Coder {
 public:
  static constexpr std::size_t kGrain =
      1024;  // elements: values are cut on multiples of it, so that the codec's groups stay whole

  // `pool` and `streamed` outlive it.
  Coder(const payload::Spec& spec, payload::Pool& pool, Streamed& streamed) noexcept;

  std::size_t bytes(std::size_t count) const noexcept { return count * size_; }

  // Room of a slot, in whole lines, for the stream of `count` values or for the values themselves.
  std::size_t room(std::size_t count) const noexcept;

  // As many grains as fit `room` bytes cut in `regions`; 0: none does.
  std::size_t grains(std::size_t room, std::size_t regions) const noexcept {
    return room / regions / this->room(kGrain);
  }

  // The stream of `count` values, for others to read.
  Status compress(const std::byte* values, std::size_t count, codec::MutableBytes to) noexcept;

  struct Sum {
    codec::Bytes stream;
    payload::Buffer store;  // where it lies; empty: it lies in the memory that was offered
  };
  // What `own` values and the streams of the others come to: in `to` where that has room.
  Status sum(const std::byte* own, std::span<const codec::Bytes> others, std::size_t count, codec::MutableBytes to,
             Sum* sum) noexcept;

  // divisor > 1: the mean.
  Status decode(codec::Bytes stream, std::byte* to, std::size_t count, std::uint32_t divisor) noexcept;

  // `raw` bytes of values travelled as so many.
  void count(std::size_t raw, std::size_t travelled) noexcept;

 private:
  template <class Make>
  Status make(codec::MutableBytes to, std::size_t usual, std::size_t most, const Make& make, Sum* made) noexcept;

  const payload::Spec& spec_;
  payload::Pool& pool_;
  Streamed& streamed_;
  codec::Type type_;
  codec::Combine combine_;
  codec::Options options_;
  std::size_t size_;
};

}  // namespace stretto::node
