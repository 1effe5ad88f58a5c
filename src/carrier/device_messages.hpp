// Messages between the memories of devices, without staging in the host's: NCCL, or a transport that takes device pointers.
//
// The engine announces each message by a small one of the host's (carrier.hpp), which says how long it is, or that its sender has
// failed. So both sides know the length when they begin, and messages of a failed rank never begin.
//
// Belongs to one rank and is used by one thread at a time, while the device is the thread's current one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "carrier/carrier.hpp"

namespace stretto::carrier {

// A message that its receiver reads where its sender has it, from borrow() to give_back().
struct Loan {
  const void* data = nullptr;  // null: nothing is lent
  std::uint64_t number = 0;
};

// One side of a message in device memory, which is ready: as the host knows, no enqueued work writes it (a send), or touches it (a receive).
// The other side gives the same length. Messages of one pair of ranks and one tag meet in the order of starting.
struct DeviceTransfer {
  int peer = -1;
  bool sends = false;
  std::uint64_t tag = 0;  // below Carrier::tags() of the carrier that announced it
  void* data = nullptr;   // null: a receive whose message is dropped, where drops() is true
  std::size_t bytes = 0;  // not 0
  std::uint64_t id = 0;   // reported when it has ended; several may have one
  Loan* loan = nullptr;   // a receive that borrows, without memory of its own; see lends()
};

class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;

  // "NCCL 2.28.9". Static storage, or the object's own.
  virtual const char* name() const noexcept = 0;

  // True: groups begin one after another, and a later one moves only when the earlier ones have ended. The engine then begins
  // them in an order that is the same on all ranks. False: whatever has begun moves, in any order.
  virtual bool one_by_one() const noexcept = 0;

  // True if a rank without memory for a message may receive and drop it: then its peers go on, and learn of the failure by its marks. Else
  // such a rank raises an alarm.
  virtual bool drops() const noexcept { return false; }

  // True if a receive may borrow a message of this peer: of streams, which lie in memory of the peer's device::Device, or of raw
  // values, which may lie in the program's. Such a receive is reported twice: when *loan has the message's address, and when the sender
  // has it back. A failed receive is reported once, and nothing is lent.
  virtual bool lends(int /*peer*/, bool /*raw*/) const noexcept { return false; }

  // ok: work enqueued from here on may read the message.
  virtual Status borrow(const Loan&) noexcept { return no_loan(); }

  // Precondition: the device has passed all work that reads the message.
  virtual Status give_back(const Loan&) noexcept { return no_loan(); }

  // Begins transfers, which move together. Tags of an implementation that begins them one by one are ignored. The memory belongs to
  // the transfers until their completions are reported, as a Loan does until the first. On failure none of them has begun, or the object
  // is broken (internal).
  virtual Status start(std::span<const DeviceTransfer> group) noexcept = 0;

  // Reports up to done.size() ended transfers, without waiting, and their number in *n. Any stream may then use received messages.
  virtual Status poll(std::span<Completion> done, std::size_t* n) noexcept = 0;

  // Ends all transfers in flight, which are not reported any more. Their memory is the caller's again when the device has passed all work
  // enqueued so far. Nothing can be started afterwards. Other ranks are not told.
  virtual void abort() noexcept = 0;

 private:
  static Status no_loan() noexcept {
    return fail(Status::internal, std::string_view("nothing is lent between devices"));
  }
};

}  // namespace stretto::carrier
