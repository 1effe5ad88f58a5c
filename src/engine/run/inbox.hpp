// Posts a run's receives in the schedule's order, a window per peer, and takes in arrivals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/run/traffic.hpp"

namespace stretto::engine {

// From its mark; a mark of no byte (where messages have one) does not tell which.
Status failed_peer(std::int32_t peer, const std::byte* mark, std::size_t bytes) noexcept;

class Inbox {
 public:
  explicit Inbox(RunState& run) noexcept : run_(run) {}

  void begin();

  void post_all() noexcept;

  // A unit's message, or its notice or announcement.
  void arrived(std::uint32_t u, const carrier::Completion& completion) noexcept;

  // Takes in the message, or posts a receive that lands in its place.
  void receive(std::uint32_t u) noexcept;

 private:
  struct Queue {  // receives from a peer that need a buffer
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    int open = 0;
  };

  bool needs_buffer(std::uint32_t u) const noexcept;
  std::size_t room_for(std::uint32_t u) const noexcept;
  void post_receives(Queue& queue) noexcept;
  Status post(std::uint32_t u, std::size_t bytes) noexcept;
  bool expect_long(std::uint32_t u) noexcept;
  Status check(const Unit& unit, const std::byte* data, std::size_t bytes) const noexcept;
  Status consume(std::uint32_t u, const payload::Buffer& hold) noexcept;
  Status parse(const Unit& unit, std::uint32_t i, codec::Bytes rest, std::size_t* bytes) const noexcept;

  RunState& run_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> receives_;
};

}  // namespace stretto::engine
