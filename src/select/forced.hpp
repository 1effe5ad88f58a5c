// What a caller forces by options.schedule.
#pragma once

#include <optional>
#include <string>

#include "base/status.hpp"
#include "schedule/registry.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// The provider that a forced schedule names: mpi for "native", node for "node". Empty for any other schedule, or none.
std::optional<Provider> forced_provider(const Call& call) noexcept;

// The providers of a communicator, and those that serve a call.
struct Providers {
  bool mpi = false, node = false;  // there is such a one
  std::string no_node;             // why there is none
  Served served;
};

// Checks a forced schedule. It must exist, offer the collective, and keep the order of an operation that does not
// commute (with ranks in these groups; null: each rank is a group). A forced provider must exist and serve the call
// exactly. gatherv, scatterv and alltoallv are checked by what is known before their counts; complete() checks them
// again.
Status check_forced(const Call& call, const Providers& providers, const schedule::Groups* groups);

// The part of check_forced() about a schedule that exists.
Status check_algorithm(const Call& call, const schedule::Algorithm& algorithm, const schedule::Groups* groups);

}  // namespace stretto::select
