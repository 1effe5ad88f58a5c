// Probes the network while a communicator is made: a few messages between hosts tell latency and rate within a factor
// of two. `stretto tune` measures both precisely.
#pragma once

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Times of messages between hosts. `byte` is 0 if nothing was measured.
struct NetworkSpeed {
  double latency = 0;  // seconds
  double byte = 0;     // seconds

  bool known() const noexcept { return byte > 0; }
};

// From this process' latest probe over `carrier`, if any.
NetworkSpeed known_speed(model::Carrier carrier) noexcept;

// The first rank of each host sends 800 KB to that of the next host. *speed is that of the slowest host. Collective;
// all ranks get the same speed and status. timeout: a message took longer than a minute. After a failure `messages` has
// no further use. Precondition: several hosts.
Status probe_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                     carrier::Carrier& messages, NetworkSpeed* speed) noexcept;

// Not known if either is not.
NetworkSpeed slower(NetworkSpeed one, NetworkSpeed other) noexcept;

}  // namespace stretto::api
