// Calls whose buffers are in the memory of a device.
#pragma once

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::api {

// Finds out where the buffers of a checked call are, and puts that down in the call, with the communicator's device where
// they are one's. Managed memory counts as the host's, which can read it. invalid_argument: they are not all in one
// place, or, where the call has a stream, not of its device.
Status place(stretto_comm_s& comm, Call* call) noexcept;

// True if one of two buffers is in the memory of a device: a fast query before all checks.
bool on_device(const void* send, const void* recv) noexcept;

// True if place() would accept the memories of these buffers. Null: this rank has none.
bool are_together(stretto_comm_s& comm, const void* send, const void* recv) noexcept;

// Finds the ranges of a placed call's input, on the device. Waits for it.
Status find_values(stretto_comm_s& comm, Call* call) noexcept;

}  // namespace stretto::api
