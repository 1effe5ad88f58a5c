// Measures a host's memory between its ranks while their first communicator is made: whether streams are faster there
// than raw values depends on how far apart the cores are.
#pragma once

#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "node/collectives/collectives.hpp"
#include "select/choices.hpp"

namespace stretto::api {

// Puts the speed of a host's memory into the model of its ranks: as these processes measured it before, or by a few
// exact and a few streamed allreduces of 256 KiB, 0.5 to 1 ms. The same on all ranks. Nothing is measured, and the model
// stays, where a profile has the speed, for one rank or more than eight, where ranks share cores, and between threads
// of one process. Collective; all ranks get the same status. A failure ends `node`.
Status take_memory_speed(backend::Transport& transport, node::Collectives& node,
                         std::shared_ptr<select::SharedChooser>* chooser) noexcept;

}  // namespace stretto::api
