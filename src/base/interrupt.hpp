// A callback that may end this thread's long waits before their limit.
#pragma once

namespace stretto {

struct Interrupt {
  int (*asked)(void* context) = nullptr;
  void* context = nullptr;
};

// Sets the callback of this thread's waits.
void interrupt_by(Interrupt interrupt) noexcept;

// Calls it; 20 times a second is enough. True: the wait is over, and fails with Status::timeout.
bool interrupted() noexcept;

}  // namespace stretto
