// The collectives of ranks that share a host's memory (src/node) as a communicator's native ones: blocking, of values as they are or,
// within a bound, of streams.
#pragma once

#include <memory>

#include "api/native.hpp"
#include "base/status.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::api {

// Over collectives that the ranks made together. `kept` is what their progress hook needs; it lives as long as they do.
std::unique_ptr<NodeNative> make_close(std::unique_ptr<node::Collectives> collectives,
                                       std::shared_ptr<void> kept = nullptr);

}  // namespace stretto::api
