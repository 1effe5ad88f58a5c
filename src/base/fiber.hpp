// A function on its own stack that can suspend and resume later, on any thread.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace stretto {

class Fiber {
 public:
  using Body = void (*)(void*) noexcept;

  // Throws std::bad_alloc. The stack's memory is reserved and committed on use; a guard page lies below it.
  explicit Fiber(std::size_t stack = std::size_t{256} << 10);
  ~Fiber();  // precondition: ended or never begun
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Sets the function that resume() runs, in the caller's floating-point environment. Precondition: as for the
  // destructor.
  void begin(Body body, void* argument) noexcept;

  // Runs until the fiber suspends or ends; true: it has ended. By one thread at a time. The thread's signal mask stays
  // in force.
  bool resume() noexcept;

  // Called inside the fiber: returns control to the resuming thread. It must hold no lock and be in no catch block,
  // since both belong to a thread. A function must not use errno or another thread-local both before and after
  // suspending: the compiler may cache its address.
  void suspend() noexcept;

 private:
  static void enter(unsigned high, unsigned low) noexcept;
  void switch_out(bool for_good) noexcept;

  std::byte* stack_ = nullptr;  // includes the guard page
  std::size_t bytes_ = 0;
  ucontext_t inside_{}, outside_{};
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  // State for sanitizers, which track stacks.
  void* inner_fake_ = nullptr;
  void* outer_fake_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_bytes_ = 0;
  void* inner_thread_ = nullptr;
  void* outer_thread_ = nullptr;
};

}  // namespace stretto
