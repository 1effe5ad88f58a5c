// May end this thread's long waits early.
#pragma once

namespace stretto {

struct Interrupt {
  int (*asked)(void* context) = nullptr;
  void* context = nullptr;
};

void interrupt_by(Interrupt interrupt) noexcept;

// 20 calls a second are enough. True: the wait fails with Status::timeout.
bool interrupted() noexcept;

}  // namespace stretto
