#include "api/operation/operation.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace stretto;
using call::to_c;

extern "C" {

stretto_status stretto_test(stretto_request request, int* done) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (!done) return to_c(fail(Status::invalid_argument, "done is NULL"));
  if (const Status s = api::usable(&request->comm); s != Status::ok) return to_c(s);
  stretto_comm_s& comm = request->comm;
  *done = request->settled();
  // The holder of the guard advances all operations, perhaps for as long as a blocking call waits.
  if (api::Guard guard; !*done && (guard = comm.try_guard())) {
    if (request->runs()) comm.progress();
    *done = !request->runs();
  }
  return *done && request->operation ? to_c(request->operation->status()) : STRETTO_OK;
}

stretto_status stretto_wait(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (const Status s = api::usable(&request->comm); s != Status::ok) return to_c(s);
  if (!request->operation) return STRETTO_OK;
  if (request->settled()) return to_c(request->operation->status());
  api::Guard guard = request->comm.guard();
  return to_c(request->operation->wait(guard));
}

stretto_status stretto_request_free(stretto_request* request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (!*request) return STRETTO_OK;
  if (const Status s = api::usable(&(*request)->comm); s != Status::ok) return to_c(s);
  if (!(*request)->settled()) {
    api::Guard guard = (*request)->comm.guard();
    static_cast<void>((*request)->operation->wait(guard));
  }
  stretto_comm_s& comm = (*request)->comm;
  delete *request;
  *request = nullptr;
  comm.drop_request();
  return STRETTO_OK;
}

}  // extern "C"
