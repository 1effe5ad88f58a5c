// Nonblocking point-to-point messages of any length. A send matches the receive that names its tag and peer, for which
// it may wait. Messages of one tag and length match in the order of starting; others may start in any order. One thread
// at a time uses a rank's carrier.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace stretto::carrier {

struct Completion {
  std::uint64_t id = 0;
  std::size_t bytes = 0;
  Status status = Status::ok;
};

// A message without a receive. `bytes`: the length, or less if it comes in parts.
struct Arrival {
  int peer = -1;
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
  bool in_parts = false;
};

// From a rank that can no longer keep its side of the schedules, to all others.
struct Alarm {
  std::int32_t rank = -1;
  Status status = Status::internal;
  std::uint64_t from = 0;
  std::int32_t missing = -1;     // timeout: the rank that `rank` waits for, which answers if it waits itself
  std::array<char, 384> text{};  // zero-terminated reason
};

// The second follows a failure in an earlier run, and covers all runs in flight.
inline constexpr std::size_t kMostAlarms = 2;

class Carrier {
 public:
  virtual ~Carrier() = default;

  virtual const char* name() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  // Tags are taken modulo this power of two, at least 2^15. The last is for alarms.
  virtual std::uint64_t tags() const noexcept = 0;

  // The memory is the carrier's until this id's completion, or until cancel() returns true. bytes == 0 is a message,
  // too. peer == rank() is allowed. Ids in flight are distinct.
  virtual Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                            std::uint64_t id) noexcept = 0;

  // A message longer than `capacity` completes with Status::incompatible, and may overwrite memory beyond, as with Open
  // MPI 5 from about 4 KiB on.
  virtual Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity,
                            std::uint64_t id) noexcept = 0;

  // Reports up to done.size() finished transfers in *n. Without any, waits up to `seconds` and yields the core. *n == 0
  // is no error.
  virtual Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept = 0;

  // True: the transfer will not be reported. False: the carrier may access its memory as long as it lives.
  virtual bool cancel(std::uint64_t id) noexcept = 0;

  // *found: the first message from `peer` without a receive, but for alarms. Queries the transport.
  virtual bool peek(int peer, Arrival* found) noexcept = 0;

  // Calls beyond kMostAlarms do nothing. Needs no memory, and no other rank's call.
  virtual void raise(const Alarm& alarm) noexcept = 0;

  // Another rank's new alarm. Queries the transport, for ranks that wait in vain.
  virtual bool hear(Alarm* alarm) noexcept = 0;

  // `sent` becomes 1 before this rank's first message or alarm; borrowed until the last. Carriers whose destruction
  // looks for messages without a receive do so; others ignore it.
  virtual void announce_in(std::atomic<std::uint32_t>& sent) noexcept { static_cast<void>(sent); }
  // No rank has sent anything yet: destruction need not look.
  virtual void expect_nothing() noexcept {}
};

}  // namespace stretto::carrier
