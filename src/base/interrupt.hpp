#pragma once

namespace stretto {

struct Interrupt {
  int (*asked)(void* context) = nullptr;
  void* context = nullptr;
};

void interrupt_by(Interrupt interrupt) noexcept;

// Long waits ask 20 times a second. True: the wait fails with Status::timeout.
bool interrupted() noexcept;

}  // namespace stretto
