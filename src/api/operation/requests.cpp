#include <new>

#include "api/named.hpp"
#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"
#include "stretto/stretto_persistent.h"

using namespace stretto;
using namespace stretto::api;

namespace {

// Makes *request, and locks the communicator.
Status open(stretto_comm comm, stretto_request* request, Guard* guard) noexcept {
  if (!request) return fail(Status::invalid_argument, "request is NULL");
  *request = nullptr;
  if (const Status s = usable(comm); s != Status::ok) return s;
  *guard = comm->guard();
  *request = new (std::nothrow) stretto_request_s(*comm);
  if (!*request) return fail(Status::out_of_memory, "no memory for a request");
  comm->add_request();
  return Status::ok;
}

template <class Reads>
void begin(stretto_request_s& r, const Reads& reads, Guard& guard) noexcept {
  CallState& c = r.operation.emplace(r.comm).state();
  c.call.nonblocking = true;
  r.operation->start(form(
      r.comm, [&] { return reads(&c.call); }, &c.call, &c.decision));
  CommunicationCores::mine().wake();
  r.operation->lead(guard);
}

stretto_status start(stretto_comm comm, const stretto_options* options, stretto_request* request,
                     const stretto_call& record) noexcept {
  Guard guard;
  const Status s = open(comm, request, &guard);
  if (s == Status::out_of_memory) comm->give_up(s, message());  // other ranks may be in the call
  if (s != Status::ok) return to_c(s);
  begin(
      **request, [&](Call* call) { return read(*comm, options, record, call); }, guard);
  return STRETTO_OK;
}

stretto_status prepare(stretto_comm comm, const stretto_options* options, stretto_request* request,
                       const stretto_call& record) noexcept {
  Guard guard;
  if (const Status s = open(comm, request, &guard); s != Status::ok) return to_c(s);
  stretto_request_s& r = **request;
  r.own = guarded("for the arguments", [&] {
    r.call.emplace().nonblocking = true;
    return read(*comm, options, record, &*r.call);
  });
  if (r.own != Status::ok) copy_message(r.wrong);
  return STRETTO_OK;
}

}  // namespace

extern "C" {

stretto_status stretto_irun(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                            stretto_request* request) {
  if (request) *request = nullptr;
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return start(comm, options, request, record);
}

#define STARTED(name, record, ...)                                                               \
  stretto_status stretto_i##name(__VA_ARGS__, stretto_comm comm, const stretto_options* options, \
                                 stretto_request* request) {                                     \
    return start(comm, options, request, record);                                                \
  }
STRETTO_NAMED_COLLECTIVES(STARTED)

stretto_status stretto_ibarrier(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return start(comm, options, request, barrier());
}

stretto_status stretto_run_init(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                                stretto_request* request) {
  if (request) *request = nullptr;
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return prepare(comm, options, request, record);
}

#define PERSISTENT(name, record, ...)                                                                  \
  stretto_status stretto_##name##_init(__VA_ARGS__, stretto_comm comm, const stretto_options* options, \
                                       stretto_request* request) {                                     \
    return prepare(comm, options, request, record);                                                    \
  }
STRETTO_NAMED_COLLECTIVES(PERSISTENT)

stretto_status stretto_barrier_init(stretto_comm comm, const stretto_options* options, stretto_request* request) {
  return prepare(comm, options, request, barrier());
}

stretto_status stretto_start(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (const Status s = usable(&request->comm); s != Status::ok) return to_c(s);
  Guard guard = request->comm.guard();
  if (!request->call) return to_c(fail(Status::invalid_argument, "the request is not a persistent one"));
  if (request->runs()) return to_c(fail(Status::invalid_argument, "the request was started, and is not complete"));
  const auto copy = [&](Call* call) {
    *call = *request->call;
    return request->own == Status::ok ? Status::ok : fail(request->own, std::string_view(request->wrong.data()));
  };
  begin(*request, copy, guard);
  return STRETTO_OK;
}

stretto_status stretto_test(stretto_request request, int* done) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (!done) return to_c(fail(Status::invalid_argument, "done is NULL"));
  if (const Status s = usable(&request->comm); s != Status::ok) return to_c(s);
  stretto_comm_s& comm = request->comm;
  *done = request->settled();
  // The holder of the guard advances all operations, perhaps for as long as a blocking call waits.
  if (Guard guard; !*done && (guard = comm.try_guard())) {
    if (request->runs()) comm.progress();
    *done = !request->runs();
  }
  return *done && request->operation ? to_c(request->operation->status()) : STRETTO_OK;
}

stretto_status stretto_wait(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (const Status s = usable(&request->comm); s != Status::ok) return to_c(s);
  if (!request->operation) return STRETTO_OK;
  if (request->settled()) return to_c(request->operation->status());
  Guard guard = request->comm.guard();
  return to_c(request->operation->wait(guard));
}

stretto_status stretto_request_free(stretto_request* request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (!*request) return STRETTO_OK;
  if (const Status s = usable(&(*request)->comm); s != Status::ok) return to_c(s);
  if (!(*request)->settled()) {
    Guard guard = (*request)->comm.guard();
    static_cast<void>((*request)->operation->wait(guard));
  }
  stretto_comm_s& comm = (*request)->comm;
  delete *request;
  *request = nullptr;
  comm.drop_request();
  return STRETTO_OK;
}

}  // extern "C"
