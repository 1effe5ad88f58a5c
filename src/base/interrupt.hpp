// What may end the waits of a thread before their limit: a question that long waits ask now and then.
#pragma once

namespace stretto {

struct Interrupt {
  int (*asked)(void* context) = nullptr;
  void* context = nullptr;
};

// From now on the waits of this thread ask it.
void interrupt_by(Interrupt interrupt) noexcept;

// Asks it, for which 20 times a second is often enough. True: the wait is over, and fails with Status::timeout.
bool interrupted() noexcept;

}  // namespace stretto
