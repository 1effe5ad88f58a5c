// Requests under their C names.
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
  const api::Guard guard = request->comm.guard();
  if (request->runs()) request->comm.progress();
  *done = !request->runs();
  return *done && request->operation ? to_c(request->operation->status()) : STRETTO_OK;
}

stretto_status stretto_wait(stretto_request request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (const Status s = api::usable(&request->comm); s != Status::ok) return to_c(s);
  api::Guard guard = request->comm.guard();
  return request->operation ? to_c(request->operation->wait(guard)) : STRETTO_OK;
}

stretto_status stretto_request_free(stretto_request* request) {
  if (!request) return to_c(fail(Status::invalid_argument, "request is NULL"));
  if (!*request) return STRETTO_OK;
  if (const Status s = api::usable(&(*request)->comm); s != Status::ok) return to_c(s);
  --(*request)->comm.requests;
  {
    api::Guard guard = (*request)->comm.guard();
    if ((*request)->operation) static_cast<void>((*request)->operation->wait(guard));
  }
  delete *request;
  *request = nullptr;
  return STRETTO_OK;
}

}  // extern "C"
