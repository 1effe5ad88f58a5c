#pragma once

#include <memory>
#include <vector>

#include "api/creation/node.hpp"
#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "select/choice/choices.hpp"

namespace stretto::api {

// Collective. Finds where all ranks are, and takes rank 0's profile, for messages over `carrier`. `ready`: this rank's
// status so far; where one rank has failed all do, and *all is empty. Every rank fails if a named profile cannot be
// read. Otherwise a failure is this rank's alone, and the caller tells the others. If no profile has times of the
// network, probes it with `messages`. *all: by rank. *several_hosts is equal on all ranks.
Status find_machine(backend::Transport& transport, model::Carrier carrier, Status ready, carrier::Carrier* messages,
                    std::shared_ptr<select::SharedChooser>* chooser, std::vector<Introduction>* all,
                    bool* several_hosts) noexcept;

}  // namespace stretto::api
