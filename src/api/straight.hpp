// The short way of a call that needs no word with the other ranks and that the communicator's own collective serves best: it
// goes straight down.
#pragma once

#include "api/collective.hpp"
#include "api/communicator.hpp"
#include "base/status.hpp"

namespace stretto::api {

// Precondition: the arguments are checked. True: the blocking `call` ran, and *ended is its status. False: it must take the long way; nothing has happened.
bool go_straight(stretto_comm_s& comm, const Call& call, Status* ended) noexcept;

}  // namespace stretto::api
