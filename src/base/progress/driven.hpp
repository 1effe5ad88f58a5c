#pragma once

namespace stretto {

class Driven {
 public:
  // Makes progress without waiting, unless another thread does. False: nothing moved. Thread safe.
  virtual bool drive() noexcept = 0;

  // On an idle core: also runs steps normally left to the caller.
  virtual bool drive_spare() noexcept { return drive(); }

  // Thread safe.
  virtual bool idle() const noexcept = 0;

 protected:
  ~Driven() = default;
};

}  // namespace stretto
