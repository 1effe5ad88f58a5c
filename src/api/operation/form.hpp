#pragma once

#include <string>

#include "api/communicator.hpp"
#include "base/guarded.hpp"
#include "base/status.hpp"
#include "call/record.hpp"

namespace stretto::api {

Status read(stretto_comm_s& comm, const stretto_options* options, const stretto_call& record, Call* call);

// Reads the arguments into *call by `reads`, and decides, also after a failure: this rank takes part in the others'
// agreement, to which the failure is its contribution.
template <class Reads>
Status form(stretto_comm_s& comm, const Reads& reads, Call* call, select::Decision* decision) noexcept {
  decision->known = false;
  return guarded("for the arguments", [&] {
    const Status s = reads();
    const std::string why = s == Status::ok ? "" : message();
    *decision = comm.selector.decide(*call, comm.backends.serve(*call));
    return s == Status::ok ? s : fail(s, std::string_view(why));
  });
}

}  // namespace stretto::api
