// Makes a communicator over a transport.
#pragma once

#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

// Collective over the transport's ranks: finds the machine, and whether the ranks share a host's memory. All ranks get
// a communicator, or none does. A null `comm` on one rank fails with invalid_argument on all. `carrier`: the carrier of the
// transport's messages, whose figures predictions take.
Status create(std::unique_ptr<backend::Transport> transport, model::Carrier carrier, stretto_comm* comm) noexcept;

}  // namespace stretto::api
