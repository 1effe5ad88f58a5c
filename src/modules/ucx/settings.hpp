#pragma once

#include <string>

#include "base/status.hpp"

namespace stretto::modules {

struct Connections {
  unsigned between = 1;
  unsigned inside = 1;
};

// STRETTO_CONNECTIONS for all peers, else the machine's defaults. invalid_argument: out of range.
Status read_connections(Connections* connections) noexcept;

// unsupported: UCX_TCP_PORT_RANGE has no free port; UCX (1.13 to 1.22) would try for ever.
Status find_port() noexcept;

// As ", UCX_TLS=self, UCX_NET_DEVICES=eth7"; perhaps "".
std::string settings_of_ucx() noexcept;

}  // namespace stretto::modules
