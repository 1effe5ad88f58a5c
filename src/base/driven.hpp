// Work that goes on whenever a thread drives it: the caller that tests or waits, or a communication core (communication_cores.hpp).
#pragma once

namespace stretto {

class Driven {
 public:
  // Does what can be done without waiting, unless another thread is at it. False: nothing has moved. By any thread.
  virtual bool drive() noexcept = 0;

  // The same where nothing else is to do on the core: also what the caller does better, should it come soon.
  virtual bool drive_spare() noexcept { return drive(); }

  // Whether there is nothing to do. By any thread.
  virtual bool idle() const noexcept = 0;

 protected:
  ~Driven() = default;
};

}  // namespace stretto
