// Collectives of several hosts through each host's shared memory (docs/node.md). Lane i has the ranks with number i on
// their hosts. Sums inside a host are in the order of its ranks; streams carry these sums, so the error is that of one
// contribution a host.
#pragma once

#include <functional>
#include <memory>

#include "backend/backend.hpp"
#include "backend/transport.hpp"
#include "engine/engine.hpp"
#include "node/collectives/collectives.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// Makes the collectives of this rank's host. `among`: its ranks, ascending. A failure is one on all of them.
using MakeHost = std::function<Status(node::Exchange& among, std::unique_ptr<node::Collectives>* made)>;

// The first call makes each host's memory. Ranks of a host without memory are then hosts of their own, and streams are
// no longer served. `groups`: each host's ranks, equal on all ranks. All references are borrowed; the transport
// advances while a rank waits for its host's others.
std::unique_ptr<NodesBackend> make_nodes_backend(MakeHost make, engine::Engine& engine, const schedule::Groups& groups,
                                                 Transport& transport);

}  // namespace stretto::backend
