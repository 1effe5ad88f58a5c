// The communication cores that the environment asks for.
#pragma once

#include "base/status.hpp"

namespace stretto::api {

// STRETTO_COMM_CORES, once a process, unless the program has said which. invalid_argument, at every call: no such cores.
Status ask_comm_cores() noexcept;

}  // namespace stretto::api
