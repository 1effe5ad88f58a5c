// How bytes cross between ranks: nonblocking point-to-point messages of any length.
//
// A message goes from one rank to another under a tag; a send meets the receive that names the same tag and peer. Messages
// of different tags may be started in any order on either side; of one tag and length, they meet in the order of starting.
// A send may wait for its receive (no buffering is promised), as MPI's does.
//
// A carrier belongs to one rank and is used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace stretto::carrier {

// A finished transfer. `id` is the caller's argument of start_send or start_recv; `bytes` the real length of the message. A
// status other than ok says why the transfer failed.
struct Completion {
  std::uint64_t id = 0;
  std::size_t bytes = 0;
  Status status = Status::ok;
};

// A message that has come to a rank and that no receive asks for. `bytes` is its length, or, where it comes in several
// parts, less than or equal to it.
struct Arrival {
  int peer = -1;
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
  bool in_parts = false;
};

// Sent to all others by a rank that cannot keep its side of the schedules any more.
struct Alarm {
  std::int32_t rank = -1;  // whose
  Status status = Status::internal;
  std::uint64_t from = 0;        // first run that the rank takes no part in, as the carrier's users count
  std::array<char, 384> text{};  // why; zero-terminated
};

// A rank may fail in an earlier run after its first alarm; its second alarm covers all runs in flight.
inline constexpr std::size_t most_alarms = 2;

class Carrier {
 public:
  virtual ~Carrier() = default;

  virtual const char* name() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  // Tags are taken modulo this number, a power of two and at least 2^15. The last one is no tag for messages: alarms have it.
  virtual std::uint64_t tags() const noexcept = 0;

  // Begin a transfer. The memory belongs to the carrier until the completion with this id is reported (or cancel() returns
  // true). bytes == 0 is a message like any other. peer == rank() is allowed. Ids in flight on a carrier are distinct.
  virtual Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                            std::uint64_t id) noexcept = 0;

  // A message longer than `capacity` completes with Status::incompatible. Memory beyond capacity may be overwritten: Open MPI 5
  // does so from about 4 KiB on.
  virtual Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity,
                            std::uint64_t id) noexcept = 0;

  // Report up to done.size() finished transfers in *n. With none finished, wait for one up to `seconds` (0: return at once),
  // giving the core away meanwhile. *n == 0 after the wait is no error.
  virtual Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept = 0;

  // Withdraw a transfer that no completion has been reported for. True: it will not be reported, and its memory is the
  // caller's again. False: the carrier may still touch the memory, for as long as the carrier lives.
  virtual bool cancel(std::uint64_t id) noexcept = 0;

  // True: *found is the first message from `peer` that no receive asks for, alarms aside. Asks the transport, as hear() does.
  virtual bool peek(int peer, Arrival* found) noexcept = 0;

  // Sends the alarm to every other rank, at most `most_alarms` times: later calls do nothing. Uses memory that was set aside before, and
  // needs no other rank to call.
  virtual void raise(const Alarm& alarm) noexcept = 0;

  // True: another rank raised *alarm, which no earlier call gave. Asks the transport, so it is for ranks that wait in vain.
  virtual bool hear(Alarm* alarm) noexcept = 0;
};

}  // namespace stretto::carrier
