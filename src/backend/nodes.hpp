// Collectives of several hosts, through the memory that the ranks of each host share.
//
// A vector is cut into pieces, and a piece into one block a lane. Lane i has the ranks with number i on their hosts; there are as
// many lanes as the smallest host has ranks. The ranks of a host sum block i into the result of its lane i, a schedule sums it
// between the hosts, and all ranks of the host copy it. The schedule of a piece runs while the next piece is summed in memory.
//
// Cost of an allreduce of n bytes on H hosts: a host sends what one rank of H sends. Sums inside a host are in the order of its
// ranks; streams are of these sums, so that the error is that of H contributions (Decision::hosts).
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/transport.hpp"
#include "engine/engine.hpp"
#include "node/collectives/collectives.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// `host`: of the ranks on this rank's host, in ascending order. `groups`: the ranks of each host, equal on all ranks. The engine and the transport are
// borrowed; the transport advances while a rank waits for its host's other ranks. Throws std::bad_alloc.
std::unique_ptr<NodesBackend> make_nodes_backend(std::unique_ptr<node::Collectives> host, engine::Engine& engine,
                                                 const schedule::Groups& groups, Transport& transport);

}  // namespace stretto::backend
