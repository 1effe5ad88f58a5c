#include "base/interrupt.hpp"

namespace stretto {
namespace {

thread_local Interrupt of_this_thread;

}  // namespace

void interrupt_by(Interrupt interrupt) noexcept { of_this_thread = interrupt; }

bool interrupted() noexcept {
  const Interrupt i = of_this_thread;
  return i.asked != nullptr && i.asked(i.context) != 0;
}

}  // namespace stretto
