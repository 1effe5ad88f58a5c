// Blocking calls of the library that Python's signals can end.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "calls/communicator.hpp"

namespace stretto::python {

// The thread that ends the program, once it does. Python then ends each other thread that asks for the GIL, and in a
// frame of C++ that aborts the process.
inline std::atomic<std::thread::id> ending{};

inline bool another_ends_the_program() noexcept {
  const std::thread::id by = ending;
  return by != std::thread::id() && by != std::this_thread::get_id();
}

class Interrupt {
 public:
  explicit Interrupt(const Communicator* comm) noexcept : comm_(comm) {}

  // Callback of the library's waits: true if a signal handler raised, or another rank failed.
  static int asked(void* self) {
    auto& i = *static_cast<Interrupt*>(self);
    if (i.raised_ || (i.comm_ && i.comm_->cancelled())) return 1;
    if (another_ends_the_program()) return 0;
    const nanobind::gil_scoped_acquire mine;
    if (PyErr_CheckSignals() != 0) i.raised_.emplace();
    return i.raised_.has_value();
  }

  void rethrow() const {
    if (raised_) throw nanobind::python_error(*raised_);
  }

 private:
  const Communicator* comm_;
  std::optional<nanobind::python_error> raised_;
};

// Runs work() without the GIL, and throws the exception of a signal handler. `comm`: the communicator whose ranks may
// fail, or NULL.
template <class Work>
stretto_status interruptible(const Communicator* comm, const Work& work) {
  Interrupt interrupt(comm);
  stretto_status status;
  {
    const nanobind::gil_scoped_release others;
    static_cast<void>(stretto_interrupt_by(&Interrupt::asked, &interrupt));
    status = work();
    static_cast<void>(stretto_interrupt_by(nullptr, nullptr));
    while (another_ends_the_program()) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  interrupt.rethrow();
  return status;
}

}  // namespace stretto::python
