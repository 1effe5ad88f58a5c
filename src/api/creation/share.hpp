#pragma once

#include <string>
#include <string_view>

#include "backend/transport.hpp"
#include "base/status.hpp"

namespace stretto::api {

// *text: rank 0's `given`, which must not point into it. Collective: a failed rank takes part to the end, or a later
// communicator would find its messages (MPICH reuses contexts). out_of_memory: on this rank alone.
Status share_text(backend::Transport& transport, std::string_view given, std::string* text) noexcept;

}  // namespace stretto::api
