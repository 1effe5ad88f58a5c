#include "mpi/requests/started.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "call/schedule_names.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/failures.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/requests/wait_clock.hpp"

namespace stretto::mpi {

std::atomic<int> in_flight{0};

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kCoresReason = "communication cores";

struct Started {
  Started(const WrappedCall& c, const Decision& d) : call(c), decision(d) {}

  WrappedCall call;
  Decision decision;
  CallBuffers call_buffers;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_request request = nullptr;
  MPI_Request handle = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  bool is_tested = false;
  std::thread::id completes{};
  double starting = 0, waited_before = 0;
};

class Registry {
 public:
  // Allocates nothing, so it cannot fail after a start.
  void put(std::list<Started*>& one) noexcept {
    const std::lock_guard lock(mutex_);
    all_.splice(all_.end(), one);
    in_flight.fetch_add(1, std::memory_order_release);
  }

  bool has(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Started* s) { return s->handle == request && !is_in_hand(*s); });
  }

  // A collective whose data have moved, for this thread to complete, or null. `on`: null for any communicator. *left:
  // others on their communicator, even if other threads complete them. Tests without the lock, since a test may run a
  // collective to its end.
  Started* take_done(const Communicator* on, std::size_t* left) noexcept {
    std::unique_lock lock(mutex_);
    *left = 0;
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if ((on && (*at)->decision.communicator != on) || is_in_hand(**at)) continue;
      ++*left;
      Started* const found = *at;
      if (std::exchange(found->is_tested, true)) continue;
      lock.unlock();
      int done = 0;
      const stretto_status s = stretto_test(found->request, &done);
      lock.lock();
      found->is_tested = done || s != STRETTO_OK;
      if (!found->is_tested) continue;
      found->completes = std::this_thread::get_id();
      return found;
    }
    return nullptr;
  }

  void remove(Started* s) noexcept {
    const std::lock_guard lock(mutex_);
    all_.remove(s);
    in_flight.fetch_sub(1, std::memory_order_release);
  }

 private:
  // Error handlers during completion may free the request or the communicator, and must not wait for themselves.
  static bool is_in_hand(const Started& s) noexcept { return s.completes == std::this_thread::get_id(); }

  std::mutex mutex_;
  std::list<Started*> all_;
};

// Never destroyed: programs end late. Allocates nothing.
Registry& registry() noexcept {
  alignas(Registry) static std::byte place[sizeof(Registry)];
  static Registry& all = *new (place) Registry;
  return all;
}

int query(void* state, MPI_Status* status) noexcept {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return static_cast<const Started*>(state)->code;
}

int release(void* state) noexcept {
  delete static_cast<Started*>(state);
  return MPI_SUCCESS;
}

// MPI does not allow cancelling collectives.
int cancel(void*, int complete) noexcept { return complete ? MPI_SUCCESS : MPI_ERR_REQUEST; }

bool was_refused(const Started& s) noexcept { return std::string_view(s.report.reason) == "refused"; }

std::string why_started(const Started& s) {
  std::string why = asked_by(s.decision);
  if (!why.empty()) why += "; ";
  if (was_refused(s)) why += "refused; ";
  return why + kCoresReason;
}

void account(const Started& s) {
  Runtime* const r = runtime();
  if (!r || !r->settings.report) return;
  Tally t = tally_of(s.decision, s.report);
  t.calls = 1;
  t.bytes = static_cast<double>(s.decision.shape.bytes);
  t.predicted = t.predicted_mpi = 0;  // predictions are for blocking calls
  if (was_refused(s)) t.error_with_rounding = 0;
  const double now = seconds_now();
  t.in_flight = s.report.seconds;
  t.hidden = hidden(t.in_flight, s.starting, wait_clock().total(now) - s.waited_before);
  t.seconds = t.attended = s.starting + wait_clock().charge(s.waited_before, now);
  t.split = s.report.split;
  const std::string name = s.call.form == Form::persistent ? name_of_start(s.call) : name_of(s.call);
  r->statistics.add({name, path_of(s.report), why_started(s)}, t, Server::cores);
}

void complete(Started* s) noexcept {
  stretto_status status = stretto_wait(s->request);
  if (status == STRETTO_OK) status = static_cast<stretto_status>(s->call_buffers.taken.put_back());
  if (status == STRETTO_OK) static_cast<void>(attempt([&] { account(*s); }));  // otherwise not in the statistics
  stretto_request_free(&s->request);
  if (status != STRETTO_OK) s->code = raise(s->call, status);
  registry().remove(s);
  PMPI_Grequest_complete(s->handle);  // *s may be freed from here on
}

// The MPI completes shorter calls before another core is notified.
constexpr std::int64_t kLeastDriven = 16384;

backend::Call asked(const WrappedCall& call, const Decision& d) {
  backend::Call asked;
  asked.collective = *collective_of(call.operation);
  asked.nonblocking = true;
  if (d.shape.element) {
    asked.type = d.shape.element->type;
    asked.op = d.shape.op;
  }
  for (int r = 0; r < d.communicator->size && call.operation == Function::reduce_scatter; ++r)
    asked.counts.push_back(static_cast<std::size_t>(call.recvcounts[r]));
  return asked;
}

// Trees add in an order of their own, which reproducible sums do not have.
bool names_tree(const WrappedCall& call, const Decision& d) {
  if (d.fixed && call.operation == Function::reduce) return false;
  const auto& node = d.communicator->comm->backends.node;
  return node && d.schedule && d.kind != Action::Kind::bounded && node->has_tree(asked(call, d), d.schedule);
}

// Other forced schedules, and payloads, use messages; reproducible bounded sums are codes.
bool moves_in_memory(const WrappedCall& call, const Decision& d) {
  const bool free = !d.schedule || std::string_view(d.schedule) == call::kNodeName || names_tree(call, d);
  const bool streams = d.kind == Action::Kind::bounded && (d.payload != STRETTO_PAYLOAD_AUTO || d.fixed);
  return free && !streams && d.communicator->comm->moves_in_memory(asked(call, d));
}

int not_started(const WrappedCall& call, const Decision& d, Status s) noexcept {
  give_up(*d.communicator, s);
  return raise(call, static_cast<stretto_status>(s));
}

}  // namespace

const char* unless_driven(const WrappedCall& call, bool any_thread, Decision* d) {
  const Communicator& c = *d->communicator;
  if (!c.comm) return "nonblocking, on a communicator that stretto has not made its own for";
  if (d->shape.bytes < kLeastDriven) return "nonblocking and short";
  if (call.operation == Function::allgatherv) return "nonblocking, and with counts by rank";
  if (!d->device && moves_in_memory(call, *d)) {
    if (!names_tree(call, *d)) d->schedule = call::kNodeName;
    if (d->kind == Action::Kind::bounded) d->kind = Action::Kind::exact;
    return nullptr;
  }
  return any_thread ? nullptr : "nonblocking by messages, without MPI_THREAD_MULTIPLE";
}

int start_driven(const WrappedCall& call, const Decision& d, const Settings& settings, MPI_Request* request) noexcept {
  const Clock::time_point begun = Clock::now();
  *request = MPI_REQUEST_NULL;
  std::unique_ptr<Started> s;
  std::list<Started*> one;
  const Status room = guarded("to start a collective", [&] {
    s = std::make_unique<Started>(call, d);
    one.push_back(s.get());
  });
  if (room != Status::ok) return not_started(call, d, room);
  stretto_options o = options_of(d, settings, &s->report);
  if (d.kind == Action::Kind::bounded) o.check = 1;  // ranks with different bounds all run without
  if (PMPI_Grequest_start(query, release, cancel, s.get(), &s->handle) != MPI_SUCCESS)
    return not_started(call, d, fail(Status::mpi_error, std::string_view("the MPI made no generalised request")));
  Started* const kept = s.release();
  kept->waited_before = wait_clock().total(seconds_now());
  const stretto_status failed = serve_started(call, *d.communicator, d.shape, o, &kept->call_buffers, &kept->request);
  const MPI_Request handle = kept->handle;
  kept->starting = std::chrono::duration<double>(Clock::now() - begun).count();
  if (failed != STRETTO_OK) {
    PMPI_Grequest_complete(handle);
    MPI_Request gone = handle;
    PMPI_Request_free(&gone);
    return raise(call, failed);
  }
  registry().put(one);
  *request = handle;
  return MPI_SUCCESS;
}

bool is_started(MPI_Request request) noexcept { return registry().has(request); }

void drive() noexcept {
  std::size_t left = 0;
  while (Started* const s = registry().take_done(nullptr, &left)) complete(s);
}

bool finish_all(const Communicator* on, double limit) noexcept {
  constexpr int looks = 64;
  const CountedWait counted;
  const Clock::time_point begun = Clock::now();
  Waiting waiting(true);
  for (int idle = 0;; ++idle) {
    std::size_t left = 0;
    if (Started* const s = registry().take_done(on, &left)) {
      complete(s);
      continue;
    }
    if (left == 0) return true;
    if (std::chrono::duration<double>(Clock::now() - begun).count() > limit) return false;
    const double sleep = waiting.next(Waiting::clock());
    if (sleep > 0 || idle % looks == 0) {  // other ranks may need this rank's progress
      int any = 0;
      PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
    }
    if (sleep > 0) sleep_for(sleep);
  }
}

}  // namespace stretto::mpi
