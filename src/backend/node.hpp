#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::backend {

// `groups`, for schedules, outlive the result.
std::unique_ptr<NodeBackend> make_node_backend(std::unique_ptr<node::Collectives> collectives,
                                               const schedule::Groups& groups);

}  // namespace stretto::backend
