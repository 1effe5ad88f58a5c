#pragma once

#include <optional>
#include <string>

#include "base/status.hpp"
#include "schedule/registry.hpp"
#include "select/decision.hpp"

namespace stretto::select {

bool forces_native(const Call& call) noexcept;

// mpi for "native" (device for device memory), node for "node"; else empty.
std::optional<Provider> forced_provider(const Call& call) noexcept;

struct Providers {
  bool mpi = false, node = false;
  std::string no_node;
  Support support;
};

// A forced schedule must exist, offer the collective, and keep the order of non-commutative operations (with ranks in
// these groups; null: each rank is a group). A forced provider must serve the call exactly. complete() checks again
// with counts.
Status check_forced(const Call& call, const Providers& providers, const schedule::Groups* groups);

Status check_algorithm(const Call& call, const schedule::Algorithm& algorithm, const schedule::Groups* groups);

}  // namespace stretto::select
