// The collectives of ranks that share a host's memory (src/node) as a backend: blocking, with raw values or, within a
// bound, with streams.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::backend {

// Takes over collectives that the ranks made together. `kept` owns what their progress hook needs, and lives as long as
// they do.
std::unique_ptr<NodeBackend> make_node_backend(std::unique_ptr<node::Collectives> collectives,
                                               std::shared_ptr<void> kept = nullptr);

}  // namespace stretto::backend
