#pragma once

#include <span>
#include <string>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// As "recv_combine out[3] <- 1, incoming first" or "send signal -> 2".
std::string text(const Step& step);

std::string text(const Schedule& schedule);

// A row per level, a column per rank. ">2:5" sends block 5 to rank 2, "<1:4" receives block 4 from rank 1, "<1+4"
// combines it, "." does nothing. A split level starts with its lane. Local steps are left out.
std::string picture(std::span<const Schedule> all);

}  // namespace stretto::schedule
