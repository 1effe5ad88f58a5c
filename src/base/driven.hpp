// Work that progresses when a thread drives it: a caller that tests or waits, or a communication core
// (communication_cores.hpp).
#pragma once

namespace stretto {

class Driven {
 public:
  // Makes progress without waiting, unless another thread does. False: nothing has moved. Thread safe.
  virtual bool drive() noexcept = 0;

  // Like drive(), for an idle core: also runs steps that are normally left to the caller.
  virtual bool drive_spare() noexcept { return drive(); }

  // True if there is nothing to do. Thread safe.
  virtual bool idle() const noexcept = 0;

 protected:
  ~Driven() = default;
};

}  // namespace stretto
