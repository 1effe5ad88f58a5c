// A unit is ready when the units that it waits for have released it, and a receive also when its message has arrived.
// Sends to a peer begin as they become ready, but not far ahead of the schedule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan.hpp"
#include "payload/pool.hpp"

namespace stretto::engine {

// Messages to a peer that may overtake an earlier one in the schedule. Some transports hold few unexpected messages
// (libfabric's over TCP: 64) and then stop reading.
constexpr std::uint32_t kMostAhead = 32;

// Receives of streams have room for compress(). Longer streams (sums of many values off the grid) follow a notice in
// their place, under the same tag.
constexpr std::uint64_t kNoticeMark = 0xFE;  // first byte; no stream has it
struct Notice {
  std::uint64_t mark = 0;
  std::uint64_t bytes = 0;
};

// A message's path; see device/staged.hpp and device/direct.hpp.
enum class Way : std::uint8_t { buffered, in_place, staged, direct };

struct UnitState {
  // returns: a receive whose borrowed message is not back at its sender.
  enum class Phase : std::uint8_t { waiting, ready, posted, arrived, moving, returns, done };

  Phase phase = Phase::waiting;
  Way way = Way::buffered;
  bool early = false;  // released before its transfers' end
  std::uint32_t waits_for = 0;
  int transfers = 0;
  int parts = 0;         // between devices, or borrowed
  payload::Buffer hold;  // memory of its transfers
  std::size_t bytes = 0;
  Notice notice;

  bool is_under_way() const noexcept {
    return (phase == Phase::posted || phase == Phase::moving) && transfers + parts > 0;
  }
};

class Units {
 public:
  using Phase = UnitState::Phase;

  explicit Units(const Plan& plan) noexcept : plan_(plan) {}

  void begin();

  void start() noexcept;

  UnitState& operator[](std::uint32_t u) noexcept { return states_[u]; }
  const UnitState& operator[](std::uint32_t u) const noexcept { return states_[u]; }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(states_.size()); }

  // Results are delivered when nothing else is ready.
  std::uint32_t take(Lanes lanes) noexcept;

  void arrived(std::uint32_t u) noexcept;

  void release(std::uint32_t u) noexcept;
  void finish(std::uint32_t u) noexcept;

  // A device's work outlasts the units: its end counts as one more.
  void add_end() noexcept { ++left_; }
  void end_all() noexcept { left_ = 0; }
  std::size_t left() const noexcept { return left_; }
  bool leads() const noexcept { return left_before_ > 0 && left_ > 0; }

 private:
  struct Ready {  // units in order of becoming ready, from `next` on
    std::vector<std::uint32_t> units;
    std::size_t next = 0;

    void begin(std::size_t most) {
      units.clear();
      units.reserve(most);
      next = 0;
    }
    bool some() const noexcept { return next < units.size(); }
  };

  struct Sends {
    std::uint32_t first = 0;
    std::uint32_t ahead = 0;
    std::vector<std::uint32_t> held;  // ready, but too far ahead: a min-heap
    std::vector<std::uint8_t> begun;
    std::vector<std::uint32_t> units;
  };

  void make_ready(std::uint32_t u) noexcept;
  void push(std::uint32_t u) noexcept { ready_[static_cast<std::size_t>(plan_.units[u].lane)].units.push_back(u); }
  void queue_sends();
  void send_in_turn(std::uint32_t u) noexcept;
  void begin_send(Sends& sends, std::uint32_t number) noexcept;

  const Plan& plan_;
  std::vector<UnitState> states_;
  std::array<Ready, schedule::kLaneCount> ready_;
  Ready deliveries_;
  std::vector<Sends> sends_;  // by peer; none if no send can be too far ahead
  std::size_t left_ = 0;
  std::size_t left_before_ = 0;  // units of Lane::before
};

}  // namespace stretto::engine
