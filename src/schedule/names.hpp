#pragma once

#include <optional>
#include <string_view>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

const char* name(Buffer b) noexcept;
const char* name(Kind k) noexcept;
const char* name(Link l) noexcept;
const char* name(Lane l) noexcept;

// Also accepts "broadcast".
std::optional<Collective> find_collective(std::string_view name) noexcept;

// A rank's caller holds the block at the start, or expects it at the end.
bool holds(Collective c, int ranks, int root, int rank, int block) noexcept;
bool expects(Collective c, int ranks, int root, int rank, int block) noexcept;

}  // namespace stretto::schedule
