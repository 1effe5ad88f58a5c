// A communicator's device. A lane is a stream with its own memory.
//
// Work on a segment is enqueued on the segment's lane, which alone uses its pool's memory. So stream order suffices for
// device memory, except for these waits:
//   start_after, end_before   between the caller's stream and all lanes
//   join                      between lanes, where one has prepared memory for all
//   passed                    of the host, before it reads memory that a lane fills, or reuses memory that a lane reads
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "device/plugin.hpp"
#include "device/region.hpp"
#include "payload/element.hpp"
#include "payload/pool.hpp"

namespace stretto::device {

constexpr std::size_t kMostLanes = 8, kUsualLanes = 4;

// A place in every lane, passed when all earlier work is over.
struct LanePositions {
  std::array<std::uint64_t, kMostLanes> at{};  // 0: none of that lane
};

// A waiting host queries seldom: launches need the driver's locks, too.
class Pace {
 public:
  bool may_ask() const noexcept { return Clock::now() >= next_; }
  void asked_in_vain() noexcept { next_ = Clock::now() + std::chrono::microseconds(2); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_{};
};

class Owner {
 public:
  virtual void ended(std::uint32_t unit, Status status, std::size_t bytes) noexcept = 0;

 protected:
  ~Owner() = default;
};

class Device {
 public:
  // Device `number` is this thread's current device meanwhile.
  static Status open(const Plugin& plugin, int number, std::unique_ptr<Device>* made) noexcept;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  class Visit {
   public:
    explicit Visit(const Device& device) noexcept { enter(device); }
    explicit Visit(const Device* device) noexcept {  // null: none
      if (device != nullptr) enter(*device);
    }
    ~Visit() {
      if (before_ >= 0) static_cast<void>(device_->plugin_.use_device(before_));
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    void enter(const Device& device) noexcept;

    const Device* device_ = nullptr;
    int before_ = -1;
  };

  int number() const noexcept { return number_; }
  const Plugin& plugin() const noexcept { return plugin_; }
  payload::Pool& pinned() noexcept { return pinned_; }
  payload::Pool& pool(std::size_t lane) noexcept { return *lane_[lane].pool; }
  // Other processes may keep the allocation (Region).
  std::byte* share(const void* p) noexcept { return device_memory_.share(p); }
  void keep_shared() noexcept { device_memory_.keep_shared(); }

  // For work that the lane's next mark covers.
  void* stream(std::size_t lane) noexcept {
    lane_[lane].unmarked = true;
    return lane_[lane].stream;
  }

  // Fixes the memory of collectives. invalid_argument: some is in use.
  Status reserve(std::size_t device_bytes, std::size_t pinned_bytes) noexcept;

  // Fixed memory of an idle device becomes one free piece again.
  Status begin() noexcept;

  // Upper bounds for collectives of up to `count` values.
  Status need(payload::Type type, std::size_t count, std::size_t* device_bytes, std::size_t* pinned_bytes) noexcept;

  Status usable() const noexcept;

  // An error loses the device.
  Status check(int error, const char* what) noexcept;

  // Later work on the first `lanes` lanes follows the work on `stream`; end_before(): the reverse.
  Status start_after(void* stream, std::size_t lanes) noexcept;
  Status end_before(void* stream) noexcept;

  // Later work on the first `lanes` lanes follows `lane`.
  Status join(std::size_t lane, std::size_t lanes) noexcept;

  Status make_lanes(std::size_t lanes) noexcept;

  // The place after all work so far on the lanes in the mask `which`.
  Status mark(std::uint32_t which, LanePositions* moment) noexcept;

  // Notifies owners of operations that are over.
  Status poll() noexcept;
  bool passed(const LanePositions& moment) const noexcept;
  bool idle() const noexcept;

  // Keeps memory that a lane still uses until `until` has passed.
  Status keep(payload::Buffer buffer, const LanePositions& until) noexcept;

  // `out`: the resulting stream's buffer. The owner gets the result under `unit`.
  Status launch(std::size_t lane, codec::cuda::Arguments* arguments, const payload::Buffer& out, Owner* owner,
                std::uint32_t unit) noexcept;

  // Later failures of the owner's operations go to late().
  void forget(const Owner* owner) noexcept;

  // The first failure of an operation without owner, once.
  Status late() noexcept;

 private:
  struct Operation {
    codec::cuda::Result* result;
    payload::Buffer out;
    Owner* owner;
    std::uint32_t unit;
    std::uint64_t place;
  };
  struct RetainedBuffer {
    LanePositions until;
    payload::Buffer buffer;
  };
  static constexpr std::size_t kEvents = 16;
  struct Lane {
    void* stream = nullptr;
    std::array<void*, kEvents> event{};
    std::uint64_t marked = 0, passed = 0;
    bool unmarked = false;
    std::unique_ptr<payload::Pool> pool;
    payload::Buffer workspace;
    std::deque<Operation> operations;
  };

  Device(const Plugin& plugin, int number);
  Status make() noexcept;
  void drop_idle() noexcept;
  Status mark(Lane& lane) noexcept;
  Status poll(Lane& lane) noexcept;
  void end(const Operation& operation) noexcept;
  Status make_room(Lane& lane, std::size_t workspace) noexcept;
  Status take_result(codec::cuda::Result** result) noexcept;

  const Plugin& plugin_;
  const int number_;
  Region device_memory_, pinned_memory_;
  payload::Pool pinned_;
  std::array<Lane, kMostLanes> lane_;
  void* boundary_ = nullptr;
  std::vector<payload::Buffer> result_chunks_;
  std::vector<codec::cuda::Result*> results_;
  std::deque<RetainedBuffer> kept_;
  Pace pace_;
  bool lost_ = false;
  std::array<char, 256> why_lost_{};
  Status late_ = Status::ok;
};

}  // namespace stretto::device
