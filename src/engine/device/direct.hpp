// A small host message announces each message between device memories: its parts' lengths, or its sender's failure. So
// both sides begin equal transfers, and no rank waits in a device in vain. A send is ready when packed and announced, a
// receive when announced, with memory for the longest message that no lane uses.
//
// A peer may lend its message to a combining receive, whose unit ends when the peer has the message back; later units
// do not wait for that.
//
// If transfers move one by one (carrier/device_messages.hpp), all ranks begin them by turns, or they would wait in a
// circle. A turn is the level, then the message's number at that level between its ranks; it begins together, in both
// directions. Messages depend on lower levels only (a test checks schedules), so a turn waits only for earlier turns.
#pragma once

#include <vector>

#include "carrier/device_messages.hpp"
#include "engine/device/staged.hpp"

namespace stretto::engine {

class Direct final : public Staged {
 public:
  Direct(RunState& run, Outbox& outbox, device::Device& device, carrier::DeviceMessages& between) noexcept
      : Staged(run, outbox, device), between_(between) {}

  Status route() override;
  std::string diagnosis() const override;
  Status prepare(std::uint32_t u) noexcept override;
  bool land(std::uint32_t u) noexcept override;
  Status consume(std::uint32_t u, const payload::Buffer& hold) noexcept override;
  void skip(std::uint32_t u) noexcept override;
  void crossed(std::uint32_t u, const carrier::Completion& completion) noexcept override;
  void poll(std::span<carrier::Completion> done, std::size_t* n) noexcept override;
  void abort(std::vector<payload::Buffer>* lost) noexcept override;

 private:
  struct Crossing {
    enum class State : std::uint8_t { open, ready, begun, none };  // none: cancelled or ended
    std::uint32_t unit = 0;
    std::uint64_t turn = 0;
    State state = State::open;
    bool drops = false;
    bool borrows = false;
    std::vector<Part> parts;
    device::LanePositions free;  // afterwards no lane uses a receive's memory or a borrowed message
  };

  Crossing& at(std::uint32_t u) noexcept { return crossings_[of_unit_[u]]; }
  void find_exchanges();
  bool may_borrow(const Unit& unit, bool exchanges) const noexcept;
  Status stage(Departure&) noexcept override { return Status::ok; }
  Status leave(Departure& departure) noexcept override;
  Status read_announcement(std::uint32_t u) noexcept;
  Status take(std::size_t bytes, Part* part) noexcept;
  bool may_begin(const Crossing& crossing) const noexcept;
  void set_ready(std::uint32_t u) noexcept;
  bool advance() noexcept override;
  bool begin_in_order() noexcept;
  void begin_group(std::size_t first, std::size_t end) noexcept;
  Status take_parts(std::uint32_t u, const payload::Buffer& hold) noexcept;
  Status borrow(std::uint32_t cell, Part* part) noexcept;
  void return_later(std::uint32_t u) noexcept;
  bool return_loans(std::uint32_t u) noexcept;
  void set_next(std::size_t next) noexcept {
    next_ = next;
    crosses = next_ < crossings_.size();
  }

  carrier::DeviceMessages& between_;
  std::vector<Crossing> crossings_;
  std::vector<std::uint32_t> of_unit_;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint8_t> exchanges_;  // by unit: waits for a send of its own level
  std::vector<std::uint32_t> returning_;
  std::vector<carrier::DeviceTransfer> group_;
};

}  // namespace stretto::engine
