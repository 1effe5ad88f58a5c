#include <thread>

#include "api/operation.hpp"

namespace stretto::api {

Status Operation::late(const Operation& earlier, double limit) const noexcept {
  return fail(
      Status::timeout,
      "{} waits for {} of {} elements, the first of {} that were started before it, which is not complete after "
      "{:.3g} s",
      collective_name(call_.collective), collective_name(earlier.call_.collective), earlier.call_.count,
      comm_.live.size() - 1, limit);
}

Status Operation::wait() noexcept {
  constexpr int patience = 1000;
  Clock::time_point since = Clock::now();  // when it came, or the latest of those before it was complete
  const Operation* first = nullptr;
  for (int idle = 0; !done(); ++idle) {
    const bool alone = comm_.live.size() == 1;
    if (alone && request_.active()) {
      // Nothing else to serve: let the engine wait, which gives the core away.
      ended(request_.wait(phase_ == Phase::running ? &ran_ : nullptr));
      advance(true);
      continue;
    }
    comm_.progress();
    if (done()) break;
    const bool behind = phase_ == Phase::meeting || phase_ == Phase::draining;
    if (behind && comm_.live.front() != first) {
      first = comm_.live.front();
      since = Clock::now();
    }
    const double limit = timeout_of(call_.settings.options);
    if ((pending_ || behind) && limit > 0 && std::chrono::duration<double>(Clock::now() - since).count() > limit) {
      ended(behind ? late(*first, limit)
                   : fail(Status::timeout, "the MPI's own {} is not complete after {:.3g} s",
                          collective_name(call_.collective), limit));
      break;
    }
    if (idle < patience)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return status();
}

}  // namespace stretto::api
