// Blocks in device memory, whose messages go through the host's pinned memory. The worker enqueues operations on lanes
// (device/device.hpp), and the host polls the device:
//
//   a send      is packed, copied to pinned memory once its lengths are known, and begins when the copy is complete
//   a receive   arrives in pinned memory and is copied to the device: done when enqueued
//   others      are done when enqueued
//
// The run ends when the device has executed all work, or, if it leaves early, when all is enqueued.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "device/executor.hpp"
#include "engine/run/outbox.hpp"

namespace stretto::engine {

class Staged : public Traffic {
 public:
  Staged(RunState& run, Outbox& outbox, device::Device& device) noexcept
      : Traffic(run, &device), outbox_(outbox), device_(device), executor_(device) {}

  Status begin(const Work& call, const payload::Spec& spec, const codec::Parallel* parallel) noexcept override;
  payload::Executor& executor() noexcept override { return executor_; }
  Status route() override;
  bool progress() noexcept override;
  void executed() noexcept override;
  void end() noexcept override;
  bool polls() const noexcept override { return true; }
  bool codes() const noexcept override { return executor_.open() > 0; }
  std::string diagnosis() const override;
  Status depart(std::uint32_t u) noexcept override;
  Status bring(const Unit& unit, const payload::Cell& cell, payload::Stream* arrived) noexcept override;
  Status keep(const Unit& unit, const payload::Buffer& arrived) noexcept override;

 protected:
  struct Part : Piece {
    carrier::Loan loan;  // of a borrowing receive
  };
  struct Departure {
    std::uint32_t unit = 0;
    std::vector<Part> parts;
    payload::Buffer staging;
    std::size_t bytes = 0;
    device::LanePositions packed;
    bool fixed = true;  // no unit writes the sent memory
  };

  // Sends a packed message, copied to pinned memory before.
  virtual Status stage(Departure& departure) noexcept;
  virtual Status leave(Departure& departure) noexcept;

  virtual bool advance() noexcept { return false; }

  std::uint32_t lanes_of(const Unit& unit) const noexcept;

  Outbox& outbox_;
  device::Device& device_;
  device::Executor executor_;

 private:
  bool advance_departure(Departure& departure) noexcept;
  void advance_end(Status usable) noexcept;

  std::optional<void*> stream_;
  bool leaves_early_ = false;
  bool ending_ = false;
  std::vector<Departure> departures_;
  device::LanePositions last_;
  std::chrono::steady_clock::time_point looked_{};
};

// `host`, or a traffic for the call's device, kept in *made.
Traffic* choose_traffic(const Work& call, RunState& run, Outbox& outbox, Traffic& host, std::unique_ptr<Traffic>* made);

}  // namespace stretto::engine
