// A failed rank sends its status as one byte in place of a message, or nothing if the message has one byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/run/traffic.hpp"

namespace stretto::engine {

class Outbox {
 public:
  explicit Outbox(RunState& run) noexcept : run_(run) {}

  // On a device it is sent later.
  void send(std::uint32_t u) noexcept;

  // `early`: no unit writes the memory, so others need not wait for the transfer.
  Status send_bytes(std::uint32_t u, const void* data, std::size_t bytes, bool early) noexcept;
  Status send_mark(std::uint32_t u) noexcept;

  void strand(std::uint32_t u, Status status) noexcept;

  // The last transfer or part ends the unit.
  void completed(std::uint32_t u) noexcept;

 private:
  Status pack(const Unit& unit, payload::Buffer* hold, const std::byte** data, std::size_t* bytes,
              bool* early) noexcept;

  RunState& run_;
};

}  // namespace stretto::engine
