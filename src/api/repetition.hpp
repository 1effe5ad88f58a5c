// A call that goes straight, once more, for callers that know by what they themselves were called with that it is like one before (src/mpi):
// neither arguments nor options of the C API are looked at again.
#pragma once

#include <cstdint>
#include <memory>

#include "api/communicator.hpp"

namespace stretto::api {

class Repetition {
 public:
  Repetition() = default;  // empty
  // Of the blocking call of `comm` that ended last, exact or not: empty, unless it was one that Straight keeps, with nothing said before it.
  // Only for calls without a bound: what is known of their data does not count.
  explicit Repetition(const stretto_comm_s& comm) noexcept : forgotten_(comm.straight.forgotten()) {
    const Straight::Last last = comm.straight.last();
    if (!last.native) return;
    call_ = last.native->repeat(last.shape);
    course_ = last.course;
    looks_ = last.looks;
  }

  explicit operator bool() const noexcept { return call_ != nullptr; }

  // Whether a call like it still goes this way; if not, the C API knows how. Precondition: not empty.
  bool holds(const stretto_comm_s& comm) const noexcept {
    return forgotten_ == comm.straight.forgotten() && !comm.broken && comm.live.empty() &&
           (!course_ || course_->looks() == looks_);
  }

  // Precondition: holds(comm). Buffers as in Call and of the same kind_of(); seconds as of timeout_of().
  Status run(stretto_comm_s& comm, const void* send, void* recv, double timeout) const noexcept {
    const Status s = call_->run(send, recv, timeout);
    if (s != Status::ok) comm.give_up(s, message());  // what the others have done is uncertain
    if (course_) course_->ran();
    return s;
  }

 private:
  std::unique_ptr<Native::Repeated> call_;
  Course* course_ = nullptr;
  std::uint32_t looks_ = 0, forgotten_ = 0;
};

}  // namespace stretto::api
