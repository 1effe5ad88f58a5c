#pragma once

#include "payload/executor.hpp"
#include "payload/payload.hpp"

namespace stretto::payload {

class HostExecutor final : public Executor {
 public:
  void begin(const Spec& spec, Pool* pool, const codec::Parallel* parallel) noexcept;

  Status compress(const std::byte* x, std::size_t count, double eps, Stream* made) noexcept override;
  Status decompress(const Stream& stream, std::byte* y, std::size_t count, std::uint32_t divisor) noexcept override;
  Status add_values(const Stream& a, const Buffer& codes, const std::byte* x, std::size_t count,
                    Stream* made) noexcept override;
  Status quantise(const std::byte*, std::size_t, Buffer*) noexcept override { return Status::ok; }
  Status combine(codec::Combine op, const Stream& a, const Stream& b, std::size_t count,
                 Stream* made) noexcept override;
  Status combine_values(Op op, Type type, const void* left, const void* right, void* out,
                        std::size_t count) noexcept override;
  Status negate_values(Type type, const void* in, void* out, std::size_t count) noexcept override;
  Status divide_values(Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept override;
  Status copy(void* to, const void* from, std::size_t bytes) noexcept override;
  Status clear(void* to, std::size_t bytes) noexcept override;

 private:
  template <class Sum>
  Status sum(const codec::Info& a, const codec::Info& b, const Sum& sum, Stream* made) noexcept;

  codec::Type type_{};
  bool halves_ = false;
  codec::Options options_{};
  Lane only_;
};

}  // namespace stretto::payload
