// Whether the ranks of an MPI communicator share one host's memory, and their collectives there.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "api/native.hpp"
#include "model/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Collective over `comm`, whose errors are returned; all ranks get one, or none. Null where the ranks are not all on one host, where the
// memory cannot be shared, or where STRETTO_NODE=0 on any rank; then *why says so. Waits let the MPI progress by `comm`, which
// outlives the result's collectives. `profile`, the same on all ranks, says where they change protocols.
std::unique_ptr<NodeNative> find_close(MPI_Comm comm, const topology::Topology& topology, const model::Profile& profile,
                                       std::string* why) noexcept;

}  // namespace stretto::api
