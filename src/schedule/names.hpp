// Names of the enumerations, as options, reports and prints use them.
#pragma once

#include <optional>
#include <string_view>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

const char* name(Collective c) noexcept;  // "reduce_scatter"
const char* name(Buffer b) noexcept;
const char* name(Kind k) noexcept;
const char* name(Link l) noexcept;

std::optional<Collective> find_collective(std::string_view name) noexcept;

// Whether contributions are combined: allreduce, reduce, reduce_scatter.
bool reduces(Collective c) noexcept;

// Whether the collective has a root: reduce, broadcast, gather, scatter.
bool rooted(Collective c) noexcept;

// What the caller holds at the start and expects at the end (see Collective), block by block.
bool holds(Collective c, int ranks, int root, int rank, int block) noexcept;
bool expects(Collective c, int ranks, int root, int rank, int block) noexcept;

}  // namespace stretto::schedule
