#include <new>

#include "api/named.hpp"
#include "api/operation/form.hpp"
#include "api/operation/operation.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace stretto;
using namespace stretto::api;

namespace {

stretto_status start(stretto_comm comm, const stretto_options* options, stretto_request* request,
                     const stretto_call& record) noexcept {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  *request = nullptr;
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  Guard guard = comm->guard();
  auto* r = new (std::nothrow) stretto_request_s(*comm);
  if (!r) {
    const Status s = fail(Status::out_of_memory, "no memory for a request");
    comm->give_up(s, message());
    return to_c(s);
  }
  Call call;
  call.nonblocking = true;
  select::Decision decision;
  const Status own = form(
      *comm, [&] { return read(*comm, options, record, &call); }, &call, &decision);
  r->operation.emplace(*comm).start(std::move(call), std::move(decision), own);
  comm->add_request();
  *request = r;
  CommunicationCores::mine().wake();
  r->operation->lead(guard);
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

}  // extern "C"
