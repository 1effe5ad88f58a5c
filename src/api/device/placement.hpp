#pragma once

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::api {

// Records in the checked call where its buffers are, and the communicator's device if they are on one. Managed memory
// counts as the host's. invalid_argument: they are not all in one place, or not on the device of the call's stream.
Status place(stretto_comm_s& comm, Call* call) noexcept;

// A fast query before all checks: either buffer is in the memory of a device.
bool on_device(const void* send, const void* recv) noexcept;

// place() would accept these buffers' memories. Null: this rank has none.
bool are_together(stretto_comm_s& comm, const void* send, const void* recv) noexcept;

Status find_values(stretto_comm_s& comm, Call* call) noexcept;

}  // namespace stretto::api
