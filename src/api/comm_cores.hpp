#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "topology/free_cores.hpp"

namespace stretto::api {

// Applies STRETTO_COMM_CORES once a process, unless the program has chosen cores. Ignores `auto`: the profiling library
// calls use_free_core(). invalid_argument, at every call: no such cores, or STRETTO_SPLIT is no number.
Status ask_comm_cores() noexcept;

// STRETTO_SPLIT: levels of every tree that the application's cores do; empty: the model decides.
std::optional<int> asked_split() noexcept;

// Uses a core that no rank of this host is bound to, and ignores the environment from then on. unsupported: there is
// none.
Status use_free_core(std::span<const topology::Cpus> bound, std::size_t rank) noexcept;

}  // namespace stretto::api
