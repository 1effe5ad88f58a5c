// Where the arrays of a call are, if that is the memory of a device, and the order in which they are ready.
#pragma once

#include <cstdint>
#include <vector>

#include "stretto/stretto.h"

namespace stretto::python {

struct Place {
  int device = -1;           // -1: memory of the host
  void* stream = nullptr;    // the call comes after its work, and before what is enqueued there afterwards
  std::vector<void*> after;  // other streams that fill the arrays
  bool finishes = false;     // the result's readers are unknown, so the call waits until it is complete

  bool on_device() const noexcept { return device >= 0; }

  // Before a call on `stream`, on this thread and with its device. Waits for the other streams.
  stretto_status begin() const noexcept;
  // After the call.
  stretto_status end() const noexcept;
};

// While one lives, CUDA's calls of this thread use the device of a place; nothing changes for memory of the host.
class Visit {
 public:
  explicit Visit(const Place& place) noexcept;
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  stretto_status status() const noexcept { return status_; }

 private:
  stretto_status status_ = STRETTO_OK;
  int before_ = -1;
};

}  // namespace stretto::python
