#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::backend {

std::unique_ptr<NodeBackend> make_node_backend(std::unique_ptr<node::Collectives> collectives);

}  // namespace stretto::backend
