// A first look at the network, while a communicator is made: a few messages between hosts say how fast it is, to a
// factor of two. `stretto tune` measures it well.
#pragma once

#include "backend/transport.hpp"
#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// What a message between hosts takes. A byte of 0 seconds: not measured.
struct NetworkSpeed {
  double latency = 0;  // seconds
  double byte = 0;     // seconds

  bool known() const noexcept { return byte > 0; }
};

// What this process measured over `carrier` for an earlier communicator.
NetworkSpeed known_speed(model::Carrier carrier) noexcept;

// Measures with the first rank of each host: each sends to the next host and receives from the one before it, at the
// same time. The slowest host counts. Takes 800 KB a host. Not known, and no failure, where a message does not arrive
// within a second or cannot be sent. Collective; the same on all ranks. Precondition: several hosts.
NetworkSpeed measure_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                             carrier::Carrier& messages) noexcept;

// The slower of two; not known where one of them is not.
NetworkSpeed slower(NetworkSpeed one, NetworkSpeed other) noexcept;

}  // namespace stretto::api
