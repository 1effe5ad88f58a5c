// How messages travel between a run's blocks and its carrier. This class is for host memory, where most functions do
// nothing; devices derive (device/staged.hpp, device/direct.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carrier/carrier.hpp"
#include "device/device.hpp"
#include "engine/run/channel.hpp"
#include "engine/run/units.hpp"
#include "payload/host_executor.hpp"

namespace stretto::engine {

// Precedes a message between devices: this word and each part's length (0: absent), or a failed rank's mark, after
// which nothing crosses.
constexpr std::uint64_t kAnnouncementMark = 0xFD;
constexpr std::size_t announcement_bytes(std::uint32_t parts) noexcept { return sizeof(std::uint64_t) * (1 + parts); }

// Keeps memory that others may still access; needs no memory.
void give_away(const payload::Buffer& buffer, std::vector<payload::Buffer>* lost) noexcept;

class Traffic;

struct RunState {
  Plan plan;
  Units units{plan};
  Values values{plan};
  Failure failure{plan, values};
  Channel channel{plan, values};
  Traffic* traffic = nullptr;
  payload::Pool* pool = nullptr;
  Options options;

  std::uint64_t raw_bytes = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages = 0;
};

class Traffic {
 public:
  explicit Traffic(RunState& run, device::Device* device = nullptr) noexcept : device(device), run_(run) {}
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  device::Device* const device;  // null: none

  // Before blocks have values.
  virtual Status begin(const Work& call, const payload::Spec& spec, const codec::Parallel* parallel) noexcept;
  virtual payload::Executor& executor() noexcept { return host_; }

  virtual Status route();

  // Before units are executed. True: something has moved.
  virtual bool progress() noexcept { return false; }

  // Marks the device's work, so that its end can be seen.
  virtual void executed() noexcept {}

  // Keeps the values' memory as long as a device uses it.
  virtual void end() noexcept {}

  virtual bool polls() const noexcept { return false; }  // nothing wakes a host that waits for a device
  virtual bool codes() const noexcept { return false; }  // the device's codec is at work
  virtual std::string diagnosis() const { return {}; }

  // Units of Way::staged and Way::direct. depart() enqueues a send's work; the message follows.
  virtual Status depart(std::uint32_t) noexcept { return Status::internal; }
  // Replaces part of an arrived message by a copy on the device, where the cell's lane needs one.
  virtual Status bring(const Unit&, const payload::Cell&, payload::Stream*) noexcept { return Status::internal; }
  // The device reads a receive's message for some time after.
  virtual Status keep(const Unit&, const payload::Buffer&) noexcept { return Status::internal; }

  // Units of Way::direct. prepare(): before a receive is posted. land(): its announcement has come; false: nothing
  // follows. consume(): its message has come. skip(): a mark goes in place of a send.
  virtual Status prepare(std::uint32_t) noexcept { return Status::internal; }
  virtual bool land(std::uint32_t) noexcept { return false; }
  virtual Status consume(std::uint32_t, const payload::Buffer&) noexcept { return Status::internal; }
  virtual void skip(std::uint32_t) noexcept {}
  virtual void crossed(std::uint32_t, const carrier::Completion&) noexcept {}
  virtual void poll(std::span<carrier::Completion>, std::size_t* n) noexcept { *n = 0; }
  virtual void abort(std::vector<payload::Buffer>* /*lost*/) noexcept {}

  bool crosses = false;
  bool may_cross = true;

 protected:
  RunState& run_;

 private:
  payload::HostExecutor host_;
};

}  // namespace stretto::engine
