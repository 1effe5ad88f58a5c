// The one place where the arguments of a collective are checked, and where its buffers are read as what they mean.
#pragma once

#include <cstddef>

#include "api/agreement.hpp"
#include "api/collective.hpp"
#include "api/native.hpp"
#include "base/status.hpp"
#include "engine/binding.hpp"

namespace stretto::api {

// Everything that this rank alone can know to be wrong. Dereferences nothing but the arrays already copied into `call`.
// `native` is null where the communicator has no collectives of its own.
Status check_arguments(const Call& call, int rank, int ranks, const Native* native) noexcept;

// The engine's view of the buffers. Precondition: check_arguments() is ok, and counts are complete on every rank.
engine::Arguments engine_arguments(const Call& call, int rank) noexcept;

// Range of the finite values of this rank's input, one pass; lo > hi when there are none. Precondition: as above, but for
// counts_at_root() collectives counts are needed at the root alone.
Status input_range(const Call& call, int rank, int ranks, double* lo, double* hi) noexcept;

// This rank's entry to the agreement: its arguments, its own failure if it has one (with the message of this thread), and
// for a relative bound the range of its input.
Signature signature_of(const Call& call, Status own, int rank, int ranks) noexcept;

}  // namespace stretto::api
