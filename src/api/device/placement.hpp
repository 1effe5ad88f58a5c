#pragma once

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"

namespace stretto::api {

// Records in the checked call where its buffers are, and the communicator's device if they are on one. Managed memory
// counts as the host's. invalid_argument: not all in one place, or not on the device of the call's stream.
Status place(stretto_comm_s& comm, Call* call) noexcept;

// Once the ranks agree. If all have their buffers on devices, messages may cross between these, and a native collective
// is the devices'. Refusals are equal on all ranks.
Status link(stretto_comm_s& comm, const Signature& merged, Call* call);

// link() waits for other ranks.
bool must_link(const stretto_comm_s& comm, const Signature& merged) noexcept;

Status find_values(stretto_comm_s& comm, Call* call) noexcept;

}  // namespace stretto::api
