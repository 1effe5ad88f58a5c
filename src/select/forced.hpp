// What a caller forces by options.schedule.
#pragma once

#include <optional>
#include <string>

#include "base/status.hpp"
#include "schedule/schedule.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Whether a forced schedule is a provider other than schedules, and which.
std::optional<Provider> forced_provider(const Call& call) noexcept;

// The providers of a communicator, and which of them serve a call.
struct Providers {
  bool mpi = false, node = false;  // there is such a one
  std::string no_node;             // why there is none
  Served served;
};

// A forced schedule must exist, offer the collective, and keep the order of an operation that does not commute (with ranks in these
// groups; null: each alone); another provider must be there and serve the call, exact. Of gatherv, scatterv and alltoallv it is what is known before
// counts are: complete() looks again.
Status check_forced(const Call& call, const Providers& providers, const schedule::Groups* groups);

}  // namespace stretto::select
