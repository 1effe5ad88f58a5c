// Settings of connections and of UCX in the environment.
#pragma once

#include <string>

#include "base/status.hpp"

namespace stretto::modules {

// Connections to a peer, by where it is.
struct Connections {
  unsigned between = 1;  // to a peer on another host
  unsigned inside = 1;   // to a peer on this host
};

// Reads STRETTO_CONNECTIONS, which holds for all peers, else takes the defaults for this machine. invalid_argument: it is
// no number of the allowed range.
Status read_connections(Connections* connections) noexcept;

// unsupported: UCX_TCP_PORT_RANGE names ports that are all taken. UCX (1.13 to 1.22) would try them for ever.
Status find_port() noexcept;

// The variables of UCX, for messages: ", UCX_TLS=self, UCX_NET_DEVICES=eth7"; empty: none is set. Throws std::bad_alloc.
std::string settings_of_ucx();

}  // namespace stretto::modules
