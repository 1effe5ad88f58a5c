#pragma once

#include <ucontext.h>

#include <cstddef>

namespace stretto {

class Fiber {
 public:
  using Body = void (*)(void*) noexcept;

  // The stack is committed on use, above a guard page.
  explicit Fiber(std::size_t stack = std::size_t{256} << 10);
  ~Fiber();  // precondition: ended or never begun
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The body runs in the caller's floating-point environment. Precondition: ended or never begun.
  void begin(Body body, void* argument) noexcept;

  // True: the body has ended. By one thread at a time, with its signal mask.
  bool resume() noexcept;

  // Returns to the resuming thread. No lock may be held and no exception handled. A function must not use errno or
  // another thread-local before and after: the compiler may cache its address.
  void suspend() noexcept;

 private:
  static void enter(unsigned high, unsigned low) noexcept;
  void switch_out(bool for_good) noexcept;

  std::byte* stack_ = nullptr;
  std::size_t bytes_ = 0;
  ucontext_t inside_{}, outside_{};
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  void* inner_fake_ = nullptr;
  void* outer_fake_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_bytes_ = 0;
  void* inner_thread_ = nullptr;
  void* outer_thread_ = nullptr;
};

}  // namespace stretto
