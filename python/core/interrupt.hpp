// Blocking calls of the library that Python's signals can end.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "calls/communicator.hpp"

namespace stretto::python {

class Interrupt {
 public:
  explicit Interrupt(const Communicator* comm) noexcept : comm_(comm) {}

  // Callback of the library's waits: true if a signal handler raised, or another rank failed.
  static int asked(void* self) {
    auto& i = *static_cast<Interrupt*>(self);
    if (i.raised_ || (i.comm_ && i.comm_->cancelled())) return 1;
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
  }
  interrupt.rethrow();
  return status;
}

}  // namespace stretto::python
