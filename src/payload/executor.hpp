// Executes a worker's operations on blocks in memory that the host cannot touch. Each function enqueues and returns; its status
// is about enqueueing. Calls run in their order, so that each may read the results of earlier ones. New streams have an unknown
// length (Buffer::content) until the host has received it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"
#include "payload/value.hpp"

namespace stretto::payload {

class Executor {
 public:
  virtual ~Executor() = default;

  // As the codec's functions of these names, under the run's bound.
  virtual Status compress(const std::byte* x, std::size_t count, Stream* made) noexcept = 0;
  virtual Status decompress(const Stream& stream, std::byte* y, std::size_t count, std::uint32_t divisor) noexcept = 0;
  virtual Status add_values(const Stream& a, const std::byte* x, std::size_t count, Stream* made) noexcept = 0;
  // add_values() in two kernels: the codes of values, and the sum of a stream and codes, which reads values again where they have none.
  virtual Status quantise(const std::byte* x, std::size_t count, Buffer* codes) noexcept = 0;
  virtual Status add_codes(const Stream& a, const Buffer& codes, const std::byte* x, std::size_t count,
                           Stream* made) noexcept = 0;
  virtual Status combine(codec::Combine op, const Stream& a, const Stream& b, std::size_t count,
                         Stream* made) noexcept = 0;

  // Like the functions of arithmetic.hpp, without users' functions.
  virtual Status combine_values(Op op, Type type, const void* left, const void* right, void* out,
                                std::size_t count) noexcept = 0;
  virtual Status negate_values(Type type, const void* in, void* out, std::size_t count) noexcept = 0;
  virtual Status divide_values(Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept = 0;

  virtual Status copy(void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual Status clear(void* to, std::size_t bytes) noexcept = 0;
};

}  // namespace stretto::payload
