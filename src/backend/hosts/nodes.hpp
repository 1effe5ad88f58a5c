// Collectives of several hosts, through the memory that the ranks of each host share (docs/node.md, "Several hosts").
// Lane i has the ranks with number i on their hosts. Before and after the schedule of a piece, on a host:
//
//   allreduce        its ranks sum block i into the result of lane i's rank    all copy all blocks
//   reduce           likewise                                                  the root copies all blocks
//   reduce_scatter   likewise, of every rank's block (hosts_reduce_scatter)    ranks without a lane copy their results
//   bcast            -                                                         all copy the piece
//   barrier          its ranks wait for one another                            and again
//
// Sums inside a host are in the order of its ranks; streams carry these sums, so the error is that of one contribution
// a host.
#pragma once

#include <functional>
#include <memory>

#include "backend/backend.hpp"
#include "backend/transport.hpp"
#include "engine/engine.hpp"
#include "node/collectives/collectives.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// Collectives of the ranks on this rank's host, over an exchange among them in ascending order. A failure is one on all
// of them.
using MakeHost = std::function<Status(node::Exchange& among, std::unique_ptr<node::Collectives>* made)>;

// The first call makes each host's memory by `make`. Ranks of a host that has none are then hosts of their own, and
// streams are no longer served. `groups`: the ranks of each host, equal on all ranks. All references are borrowed; the
// transport advances while a rank waits for its host's others.
std::unique_ptr<NodesBackend> make_nodes_backend(MakeHost make, engine::Engine& engine, const schedule::Groups& groups,
                                                 Transport& transport);

}  // namespace stretto::backend
