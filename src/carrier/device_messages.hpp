// Messages between device memories without host staging. A failed rank's messages never begin
// (engine/device/direct.hpp). One thread at a time, with the device current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "carrier/carrier.hpp"

namespace stretto::carrier {

// A message read in its sender's memory, from borrow() to give_back().
struct Loan {
  const void* data = nullptr;
  std::uint64_t number = 0;
};

// As the host knows, no enqueued work writes a send's memory, or accesses a receive's. Both sides give one length.
// Messages of a pair of ranks and a tag match in the order of starting.
struct DeviceTransfer {
  int peer = -1;
  bool sends = false;
  std::uint64_t tag = 0;
  void* data = nullptr;   // null: drops the message, if drops()
  std::size_t bytes = 0;  // not 0
  std::uint64_t id = 0;   // reported at its end; need not be unique
  Loan* loan = nullptr;
};

class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;

  // "NCCL 2.28.9". Static, or the object's.
  virtual const char* name() const noexcept = 0;

  // A group moves only after earlier groups: the engine begins them in one order on all ranks.
  virtual bool one_by_one() const noexcept = 0;

  // A rank without memory may drop a message, of which its marks tell peers. Else it raises an alarm.
  virtual bool drops() const noexcept { return false; }

  // A receive may borrow this peer's message: streams in its device::Device's memory, or `raw` values, perhaps the
  // program's. It is reported twice: when *loan has the address, and when the sender has the message back. A failed
  // receive is reported once, without a loan.
  virtual bool lends(int /*peer*/, bool /*raw*/) const noexcept { return false; }

  // Work enqueued from here on may read the loan.
  virtual Status borrow(const Loan&) noexcept { return no_loan(); }

  // The device has passed all reading work.
  virtual Status give_back(const Loan&) noexcept { return no_loan(); }

  // Transfers move together. Ignores tags if one_by_one(). The memory is theirs until they are reported, a Loan until
  // the first report. On failure none has begun, or the object is broken (internal).
  virtual Status start(std::span<const DeviceTransfer> group) noexcept = 0;

  // Reports up to done.size() ended transfers in *n, without waiting. Any stream may then use received messages.
  virtual Status poll(std::span<Completion> done, std::size_t* n) noexcept = 0;

  // Ends all transfers without reports; nothing can start afterwards. Their memory is the caller's once the device has
  // passed all work enqueued so far. Other ranks are not told.
  virtual void abort() noexcept = 0;

 private:
  static Status no_loan() noexcept {
    return fail(Status::internal, std::string_view("nothing is lent between devices"));
  }
};

}  // namespace stretto::carrier
