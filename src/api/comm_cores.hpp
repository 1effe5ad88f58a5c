// The communication cores that the environment asks for.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "topology/free_cores.hpp"

namespace stretto::api {

// STRETTO_COMM_CORES, once a process, unless the program has said which. `auto` is none here: the profiling library finds
// a core by use_free_core(). invalid_argument, at every call: no such cores, or
// STRETTO_SPLIT is no number of levels.
Status ask_comm_cores() noexcept;

// STRETTO_SPLIT: levels of every tree that the application's cores do; nothing: as the model says.
std::optional<int> asked_split() noexcept;

// A core that none of the ranks of this host is bound to, as topology::free_core() has it; from here on the environment does not count.
// unsupported: there is none.
Status use_free_core(std::span<const topology::Cpus> bound, std::size_t rank) noexcept;

}  // namespace stretto::api
