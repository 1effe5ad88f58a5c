#include "base/progress/fiber.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace stretto {
namespace {

std::size_t page() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber(std::size_t stack) {
  bytes_ = (stack + page() - 1) / page() * page() + page();
  void* at =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(at);
  mprotect(stack_, page(), PROT_NONE);
#ifdef __SANITIZE_THREAD__
  inner_thread_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(inner_thread_);
#endif
  munmap(stack_, bytes_);
}

void Fiber::begin(Body body, void* argument) noexcept {
  body_ = body;
  argument_ = argument;
  ended_ = false;
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_ + page();
  inside_.uc_stack.ss_size = bytes_ - page();
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(std::uint64_t{self} >> 32), static_cast<unsigned>(self));
}

void Fiber::enter(unsigned high, unsigned low) noexcept {
  auto* self = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low));
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &self->outer_bottom_, &self->outer_bytes_);
#endif
  self->body_(self->argument_);
  self->ended_ = true;
  self->switch_out(true);
}

bool Fiber::resume() noexcept {
  pthread_sigmask(SIG_BLOCK, nullptr, &inside_.uc_sigmask);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&outer_fake_, inside_.uc_stack.ss_sp, inside_.uc_stack.ss_size);
#endif
#ifdef __SANITIZE_THREAD__
  outer_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inner_thread_, 0);
#endif
  swapcontext(&outside_, &inside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(outer_fake_, nullptr, nullptr);
#endif
  return ended_;
}

void Fiber::suspend() noexcept { switch_out(false); }

void Fiber::switch_out([[maybe_unused]] bool for_good) noexcept {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_good ? nullptr : &inner_fake_, outer_bottom_, outer_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(outer_thread_, 0);
#endif
  swapcontext(&inside_, &outside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(inner_fake_, &outer_bottom_, &outer_bytes_);
#endif
}

}  // namespace stretto
