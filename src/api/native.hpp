// The collectives that the system below a communicator has of its own (an MPI's), as one interface: what they serve, run and
// started. They move values as they are and combine them exactly as that system does.
//
// The way of a call to one: prospect_of() (plan.hpp) asks serves() and lets the choice be made. Where it falls on a native
// collective and nothing needs to be agreed on, go_straight() (straight.hpp) calls run(), and notes the call's shape, so that an
// equal call goes to run_plain() without any of this. Otherwise an Operation runs or starts it when its turn has come.
#pragma once

#include <memory>

#include "api/collective.hpp"
#include "base/status.hpp"

namespace stretto::api {

// The name of an MPI's own collectives where a schedule is forced or reported.
inline constexpr const char* native_name = "native";

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

  // In reports, and as a schedule that is forced. Static storage.
  virtual const char* name() const noexcept = 0;

  // Whether it computes just what `call` asks for, by what all ranks agree on: the same answer on every rank once the counts
  // of gatherv and scatterv are known to all.
  virtual bool serves(const Call& call) const noexcept = 0;

  // Precondition of both: serves(call). Every rank uses the same one, and all ranks call in the same order. run() waits for as
  // long as it takes. start(): the buffers of `call` are borrowed until the end, `call` itself is not.
  virtual Status run(const Call& call) noexcept = 0;
  virtual Status start(const Call& call, std::unique_ptr<Pending>* pending) noexcept = 0;

  // run() of a call of this shape, which has no counts and no function of the user's, with the buffers of Call. Every instruction here counts.
  virtual Status run_plain(const Shape& shape, const void* send, void* recv) noexcept = 0;
};

}  // namespace stretto::api
