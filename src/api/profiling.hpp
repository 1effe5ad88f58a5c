// All that the profiling library uses of this floor, beside the C functions.
#pragma once

#include "api/comm_cores.hpp"
#include "api/communicator.hpp"
#include "api/creation/create.hpp"

namespace stretto::api {

// Calls accept these buffers' memories. Null: this rank has none.
bool are_together(stretto_comm_s& comm, const void* send, const void* recv) noexcept;

// Replaces this rank's sent F32 or F64 values by those that the receivers decoded. STRETTO_OUT_OF_MEMORY: some may be
// replaced.
Status round_as_received(stretto_type type, std::size_t count, stretto_bound bound, const stretto_report& report,
                         void* values) noexcept;

}  // namespace stretto::api
