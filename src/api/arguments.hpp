// The one place where the arguments of a collective are checked, and where its buffers are read as what they mean.
#pragma once

#include <cstddef>

#include "api/agreement.hpp"
#include "api/collective.hpp"
#include "api/native.hpp"
#include "base/status.hpp"
#include "engine/binding.hpp"

namespace stretto::api {

// Where a call is made.
struct Setting {
  int rank = 0, ranks = 1;
  const Natives* natives = nullptr;          // of the communicator
  const schedule::Groups* groups = nullptr;  // the hosts' ranks
};

// Everything that this rank alone can know to be wrong. Dereferences nothing but the arrays already copied into `call`.
Status check_arguments(const Call& call, const Setting& setting) noexcept;

// The engine's view of the buffers. Precondition: check_arguments() is ok, and counts are complete on every rank.
engine::Arguments engine_arguments(const Call& call, int rank) noexcept;

// This rank's entry to the agreement: its arguments, its own failure if it has one (with the message of this thread), and
// what its prospect asks for: the range of its input, and how well a sample of it compresses.
Signature signature_of(const Call& call, Status own, int rank, int ranks) noexcept;

}  // namespace stretto::api
