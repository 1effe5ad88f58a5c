#include <new>

#include "api/named.hpp"
#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_persistent.h"

using namespace stretto;
using namespace stretto::api;

namespace {

stretto_status prepare(stretto_comm comm, const stretto_options* options, stretto_request* request,
                       const stretto_call& record) noexcept {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  *request = nullptr;
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  auto* r = new (std::nothrow) stretto_request_s(*comm);
  if (!r) return to_c(fail(Status::out_of_memory, "no memory for a request"));
  const Guard guard = comm->guard();
  r->own = guarded("for the arguments", [&] {
    r->call.emplace().nonblocking = true;
    return read(*comm, options, record, &*r->call);
  });
  if (r->own != Status::ok) copy_message(r->wrong);
  comm->add_request();
  *request = r;
  return STRETTO_OK;
}

}  // namespace

extern "C" {

stretto_status stretto_start(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  stretto_comm_s& comm = request->comm;
  if (const Status s = usable(&comm); s != Status::ok) return to_c(s);
  Guard guard = comm.guard();
  if (!request->call) return to_c(fail(Status::invalid_argument, "the request is not a persistent one"));
  if (request->runs()) return to_c(fail(Status::invalid_argument, "the request was started, and is not complete"));
  Call call;
  select::Decision decision;
  const auto copy = [&] {
    call = *request->call;
    return request->own == Status::ok ? Status::ok : fail(request->own, std::string_view(request->wrong.data()));
  };
  const Status own = form(comm, copy, &call, &decision);
  request->operation.emplace(comm).start(std::move(call), std::move(decision), own);
  CommunicationCores::mine().wake();
  request->operation->lead(guard);
  return STRETTO_OK;
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

}  // extern "C"
