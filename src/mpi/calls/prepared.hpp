// Keys of the program's arguments, for the communicator's prepared calls (api/operation/prepared.hpp).
#pragma once

#include "api/profiling.hpp"
#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

struct Communicator;

// Handles stay valid: dense types and served operations are predefined, or are only compared. False: calls with counts
// by rank, or that do not block, are not kept.
bool key_of(const WrappedCall& call, api::PreparedKey* key) noexcept;

// A broadcast of a derived type, by root and bytes: BLACS makes a type for each of its calls, and frees it. False: no
// such call, or a longer one.
inline constexpr std::int64_t kLongestPacked = 1024;
bool packed_key_of(const WrappedCall& call, api::PreparedKey* key) noexcept;

// True: an equal call was kept; *status is its result.
bool again(const WrappedCall& call, const Communicator& c, double timeout, stretto_status* status) noexcept;

}  // namespace stretto::mpi
