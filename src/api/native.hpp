// The collectives that the system below a communicator has of its own (an MPI's), as one interface: what they serve, run and
// started. They move values as they are and combine them exactly as that system does.
#pragma once

#include <memory>

#include "api/collective.hpp"
#include "base/status.hpp"

namespace stretto::api {

class Native {
 public:
  // A collective that was started.
  class Pending {
   public:
    virtual ~Pending() =
        default;  // of one that is not complete: leaves its buffers to the system for as long as it runs
    virtual Status test(bool* done) noexcept = 0;
  };

  virtual ~Native() = default;

  // Whether it computes just what `call` asks for, by what all ranks agree on: the same answer on every rank once the counts
  // of gatherv and scatterv are known to all.
  virtual bool serves(const Call& call) const noexcept = 0;

  // Precondition of both: serves(call). Every rank uses the same one, and all ranks call in the same order. run() waits for as
  // long as it takes. start(): the buffers of `call` are borrowed until the end, `call` itself is not.
  virtual Status run(const Call& call) noexcept = 0;
  virtual Status start(const Call& call, std::unique_ptr<Pending>* pending) noexcept = 0;
};

}  // namespace stretto::api
