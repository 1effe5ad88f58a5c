#pragma once

#include <string>

#include "base/status.hpp"

namespace stretto::modules {

// STRETTO_CONNECTIONS, else this machine's default. invalid_argument: out of range, or no number.
Status read_connections(unsigned* connections) noexcept;

// unsupported: UCX_TCP_PORT_RANGE has no free port; UCX (1.13 to 1.22) would try for ever.
Status find_port() noexcept;

// UCX's variables for messages: ", UCX_TLS=self, UCX_NET_DEVICES=eth7"; "" if none is set. Throws std::bad_alloc.
std::string settings_of_ucx();

}  // namespace stretto::modules
