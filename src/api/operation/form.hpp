#pragma once

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/record.hpp"

namespace stretto::api {

Status read(stretto_comm_s& comm, const stretto_options* options, const stretto_call& record, Call* call);

// read(), then a decision. A failure is this rank's contribution to the agreement.
Status form(stretto_comm_s& comm, const stretto_options* options, const stretto_call& record, Call* call,
            select::Decision* decision) noexcept;

}  // namespace stretto::api
