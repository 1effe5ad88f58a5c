// The collectives of ranks that share a host's memory (src/node) as a backend: blocking, of values as they are or, within a bound, of streams.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::backend {

// Over collectives that the ranks made together. `kept` is what their progress hook needs; it lives as long as they do.
std::unique_ptr<NodeBackend> make_node_backend(std::unique_ptr<node::Collectives> collectives,
                                               std::shared_ptr<void> kept = nullptr);

}  // namespace stretto::backend
