// Operations on values in memory of the host (host_executor.hpp) or of a device (device/executor.hpp). On a device
// functions enqueue in order and return the status of that; a new stream's length (Buffer::content) is unknown until
// the host has received it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"
#include "payload/seconds.hpp"
#include "payload/value.hpp"

namespace stretto::payload {

// On a device also a stream.
struct Lane {
  Pool* pool = nullptr;
  std::uint32_t number = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // The lane of later operations, which outlives them.
  void enter(const Lane& lane) noexcept { lane_ = &lane; }
  const Lane& lane() const noexcept { return *lane_; }
  Pool& pool() const noexcept { return *lane_->pool; }

  virtual Status compress(const std::byte* x, std::size_t count, double eps, Stream* made) noexcept = 0;
  virtual Status decompress(const Stream& stream, std::byte* y, std::size_t count, std::uint32_t divisor) noexcept = 0;
  // `codes` of x, or none; x is also read where codes are missing.
  virtual Status add_values(const Stream& a, const Buffer& codes, const std::byte* x, std::size_t count,
                            Stream* made) noexcept = 0;
  // May leave `codes` empty.
  virtual Status quantise(const std::byte* x, std::size_t count, Buffer* codes) noexcept = 0;
  virtual Status combine(codec::Combine op, const Stream& a, const Stream& b, std::size_t count,
                         Stream* made) noexcept = 0;

  virtual Status combine_values(Op op, Type type, const void* left, const void* right, void* out,
                                std::size_t count) noexcept = 0;
  virtual Status negate_values(Type type, const void* in, void* out, std::size_t count) noexcept = 0;
  virtual Status divide_values(Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept = 0;

  virtual Status copy(void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual Status clear(void* to, std::size_t bytes) noexcept = 0;

  std::uint32_t unit = 0;  // of later operations: a device's failures name it
  Seconds seconds{};       // at work on the caller's core

 protected:
  const Lane* lane_ = nullptr;
};

}  // namespace stretto::payload
