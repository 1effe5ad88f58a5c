#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "payload/executor.hpp"
#include "payload/payload.hpp"

namespace stretto::device {

// unsupported: devices cannot run `spec`. Needs no device.
Status check(const payload::Spec& spec, bool reduces) noexcept;

class Executor final : public payload::Executor, private Owner {
 public:
  explicit Executor(Device& device) noexcept : device_(device) {}
  ~Executor() override { device_.forget(this); }  // the run may end before its last operations

  void begin(const payload::Spec& spec, std::size_t lanes) noexcept;
  std::size_t lanes() const noexcept { return lanes_; }
  const payload::Lane& lane_of(std::uint32_t segment) const noexcept { return all_[segment % lanes_]; }

  Device& device() noexcept { return device_; }

  // *after: the end of all work so far on these lanes.
  Status mark(std::uint32_t lanes, LanePositions* after) noexcept;

  // Marks the last unit's work for poll(). Earlier units were marked as the next began.
  Status mark_rest() noexcept;

  // `from`, pinned, must stay until the work's end.
  Status upload(const std::byte* from, std::size_t bytes, payload::Buffer* to) noexcept;

  // open(): unfinished operations, as far as poll() knows. failed(): the first failure, with its unit.
  Status poll() noexcept { return device_.poll(); }
  std::uint64_t open() const noexcept { return open_; }
  Status failed(std::uint32_t* unit) const noexcept;

  Status compress(const std::byte* x, std::size_t count, double eps, payload::Stream* made) noexcept override;
  Status decompress(const payload::Stream& stream, std::byte* y, std::size_t count,
                    std::uint32_t divisor) noexcept override;
  Status add_values(const payload::Stream& a, const payload::Buffer& codes, const std::byte* x, std::size_t count,
                    payload::Stream* made) noexcept override;
  Status quantise(const std::byte* x, std::size_t count, payload::Buffer* codes) noexcept override;
  Status combine(codec::Combine op, const payload::Stream& a, const payload::Stream& b, std::size_t count,
                 payload::Stream* made) noexcept override;
  Status combine_values(payload::Op op, payload::Type type, const void* left, const void* right, void* out,
                        std::size_t count) noexcept override;
  Status negate_values(payload::Type type, const void* in, void* out, std::size_t count) noexcept override;
  Status divide_values(payload::Type type, void* values, std::size_t count, std::uint32_t divisor) noexcept override;
  Status copy(void* to, const void* from, std::size_t bytes) noexcept override;
  Status clear(void* to, std::size_t bytes) noexcept override;

 private:
  void ended(std::uint32_t unit, Status status, std::size_t bytes) noexcept override;
  // Messages have streams of Spec::coding, kernels take fixed streams: `coded` and `fixed` convert to these. Memory
  // that either returns to the pool serves later work of the same lane alone, behind the kernels that read it.
  Status coded(payload::Stream fixed, std::size_t count, payload::Stream* made) noexcept;
  Status fixed(const payload::Stream& stream, std::size_t count, payload::Stream* made) noexcept;
  Status write(codec::cuda::Arguments* arguments, std::size_t capacity, payload::Stream* made) noexcept;
  Status launch(codec::cuda::Arguments* arguments, const payload::Buffer& out) noexcept;
  Values values(payload::Type type, std::size_t count) noexcept;
  std::size_t use_lane() noexcept;

  Device& device_;
  payload::Spec spec_{};
  codec::Type type_{};
  std::array<payload::Lane, kMostLanes> all_;
  std::size_t lanes_ = kUsualLanes;
  std::uint32_t used_ = 0, last_unit_ = ~std::uint32_t{0};
  std::uint64_t open_ = 0;
  Status failure_ = Status::ok;
  std::uint32_t failed_unit_ = 0;
};

}  // namespace stretto::device
