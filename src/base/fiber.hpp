// A function on a stack of its own, that may stop in its middle and go on later, on the same thread or another.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace stretto {

class Fiber {
 public:
  using Body = void (*)(void*) noexcept;

  // Throws std::bad_alloc. The stack is reserved, and takes memory as it is used; below it lies a page that traps.
  explicit Fiber(std::size_t stack = std::size_t{256} << 10);
  ~Fiber();  // precondition: it has ended, or was never begun
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes `body(argument)` what resume() runs, in the floating-point environment of the caller. Precondition: as of the destructor.
  void begin(Body body, void* argument) noexcept;

  // Runs until it suspends or ends; true: it has ended. By one thread at a time. The thread's own signal mask holds meanwhile.
  bool resume() noexcept;

  // Within it: goes back to who resumed it. It must hold no lock, and be in no catch block: both belong to a thread. Nor may a function use
  // errno, or another thread-local, before and after it suspends: the compiler finds out once where it is.
  void suspend() noexcept;

 private:
  static void enter(unsigned high, unsigned low) noexcept;
  void switch_out(bool for_good) noexcept;

  std::byte* stack_ = nullptr;  // with the page below
  std::size_t bytes_ = 0;
  ucontext_t inside_{}, outside_{};
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  // Of sanitizers, which keep books on stacks.
  void* inner_fake_ = nullptr;
  void* outer_fake_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_bytes_ = 0;
  void* inner_thread_ = nullptr;
  void* outer_thread_ = nullptr;
};

}  // namespace stretto
