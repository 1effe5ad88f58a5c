// Whether the ranks of an MPI communicator share one host's memory, and their collectives there.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "base/status.hpp"
#include "model/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Collective over `comm`, whose errors are returned; all ranks get a backend, or none. Null, with the reason in *why:
// the ranks are not all on one host, the memory cannot be shared, or STRETTO_NODE=0 on any rank. invalid_argument, on
// all ranks: STRETTO_HIERARCHY cannot be read (rank 0's counts). Waits let the MPI progress by `comm`, which outlives
// the result's collectives. `profile`, the same on all ranks, says where the collectives change protocols.
Status find_node(MPI_Comm comm, const topology::Topology& topology, const model::Profile& profile, std::string* why,
                 std::unique_ptr<backend::NodeBackend>* node) noexcept;

}  // namespace stretto::api
