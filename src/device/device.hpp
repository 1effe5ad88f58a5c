// A device as a communicator uses it: a few lanes, each a stream with memory of its own, and pinned memory of the host.
//
// Everything that touches a segment of a vector is enqueued on the segment's lane, and memory of a lane's pool is used by
// that lane alone. So the order of a stream is all the order that device memory needs, and only these waits are left:
//   start_after, end_before   between the caller's stream and all lanes
//   join                      between lanes, where memory of one was prepared for all
//   passed                    the host, before it reads memory that a lane has copied to it, or reuses memory that a lane
//                             copies from
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

// Streams are made when a run first uses as many.
constexpr std::size_t most_lanes = 8, usual_lanes = 4;

// A place in every lane. Passed once all is over that was enqueued before it.
struct Moment {
  std::array<std::uint64_t, most_lanes> at{};  // 0: nothing of that lane
};

// Limits how often a waiting host asks the driver how far a device is. Questions take the driver's locks, which launches need, too.
class Pace {
 public:
  bool may_ask() const noexcept { return Clock::now() >= next_; }
  void asked_in_vain() noexcept { next_ = Clock::now() + std::chrono::microseconds(2); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_{};
};

// Receives the results of operations.
class Owner {
 public:
  virtual void ended(std::uint32_t unit, Status status, std::size_t bytes) noexcept = 0;

 protected:
  ~Owner() = default;
};

class Device {
 public:
  // Makes the streams and events of `number`, which this thread's CUDA uses meanwhile.
  static Status open(const Plugin& plugin, int number, std::unique_ptr<Device>* made) noexcept;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // While one lives, this thread's CUDA uses the device.
  class Visit {
   public:
    explicit Visit(const Device& device) noexcept;
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    const Plugin& plugin_;
    int before_ = -1;
  };

  int number() const noexcept { return number_; }
  const Plugin& plugin() const noexcept { return plugin_; }
  payload::Pool& pinned() noexcept { return pinned_; }
  payload::Pool& pool(std::size_t lane) noexcept { return *lane_[lane].pool; }
  // The allocation of a lane's pool that has an address, for other processes; and that they may keep it (Region).
  std::byte* share(const void* p) noexcept { return device_memory_.share(p); }
  void keep_shared() noexcept { device_memory_.keep_shared(); }

  // The lane's stream, for work that is enqueued now and that the lane's next mark covers.
  void* stream(std::size_t lane) noexcept {
    lane_[lane].unmarked = true;
    return lane_[lane].stream;
  }

  // Fixes the memory that collectives may use. invalid_argument: the device still works on some.
  Status reserve(std::size_t device_bytes, std::size_t pinned_bytes) noexcept;

  // Begins a collective. If the device is idle, the pools' fixed memory becomes one free piece again.
  Status begin() noexcept;

  // Upper bounds of the memory that collectives of up to `count` values use: for each segment of a stream the room of a sum and of its
  // operands, and messages in both memories; codes found ahead; workspaces of all lanes.
  Status need(payload::Type type, std::size_t count, std::size_t* device_bytes, std::size_t* pinned_bytes) noexcept;

  // ok, or that the device was lost in an earlier call.
  Status usable() const noexcept;

  // The status of a function of the plugin. An error of the device loses it.
  Status check(int error, const char* what) noexcept;

  // Orders later work on the first `lanes` lanes after the work enqueued on `stream`; end_before() orders the reverse.
  Status start_after(void* stream, std::size_t lanes) noexcept;
  Status end_before(void* stream) noexcept;

  // Orders later work on the first `lanes` lanes after all work enqueued on `lane`.
  Status join(std::size_t lane, std::size_t lanes) noexcept;

  // Makes the first so many lanes, where they are not there yet.
  Status make_lanes(std::size_t lanes) noexcept;

  // The moment after all that was enqueued on the lanes of the bits in `which` so far.
  Status mark(std::uint32_t which, Moment* moment) noexcept;

  // Asks the device how far it is, and tells owners of operations that are over.
  Status poll() noexcept;
  bool passed(const Moment& moment) const noexcept;
  bool idle() const noexcept;  // nothing is enqueued, as far as poll() knows

  // Memory that a lane still reads or writes stays until `until` has passed.
  Status keep(payload::Buffer buffer, const Moment& until) noexcept;

  // Enqueues an operation of the codec on a lane. Workspace and result are filled in. `out`: the buffer of the stream that
  // it makes. The owner receives the result under `unit`.
  Status launch(std::size_t lane, codec::cuda::Arguments* arguments, const payload::Buffer& out, Owner* owner,
                std::uint32_t unit) noexcept;

  // The owner goes: how its operations end is kept as late().
  void forget(const Owner* owner) noexcept;

  // The first failure of an operation whose owner had gone, if any; then it is forgotten.
  Status late() noexcept;

 private:
  struct Operation {
    codec::cuda::Result* result;  // pinned
    payload::Buffer out;
    Owner* owner;
    std::uint32_t unit;
    std::uint64_t place;  // in its lane; over once that is passed
  };
  struct Kept {
    Moment until;
    payload::Buffer buffer;
  };
  static constexpr std::size_t events = 16;  // a lane
  struct Lane {
    void* stream = nullptr;
    std::array<void*, events> event{};
    std::uint64_t marked = 0, passed = 0;  // places
    bool unmarked = false;                 // work was enqueued after the last place
    std::unique_ptr<payload::Pool> pool;
    payload::Buffer workspace;
    std::deque<Operation> operations;  // in order
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
  std::array<Lane, most_lanes> lane_;
  void* boundary_ = nullptr;  // an event
  std::vector<payload::Buffer> result_chunks_;
  std::vector<codec::cuda::Result*> results_;  // free ones
  std::deque<Kept> kept_;
  Pace pace_;
  bool lost_ = false;
  std::array<char, 256> why_lost_{};
  Status late_ = Status::ok;
};

}  // namespace stretto::device
