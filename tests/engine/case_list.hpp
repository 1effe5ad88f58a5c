// Which cases are run.
#pragma once

#include <cstddef>
#include <vector>

#include "cases.hpp"

namespace stretto::tests {

// Always among the cases: one of each schedule with each payload, or with each payload and each operation that the payload combines by.
enum class Each { payload, operation };

// All schedules with each payload over counts (0, 1, fewer than ranks, odd, several segments), roots (first, middle, last), and every
// operation on a count that is compressed. Types, cuts, groups and in place or not are drawn. Beside those that `each` names, every
// `stride`-th of them.
std::vector<Case> all_cases(int ranks, Each each, std::size_t stride);

// All algorithms with each payload that compresses, raw over the links inside nodes, below some size, and both. Nodes are made up of
// `groups`; of the algorithms that know nothing of groups, those that move data get them as links all the same. Every `stride`-th of them.
std::vector<Case> mixed_cases(const schedule::Groups& groups, std::size_t stride);

}  // namespace stretto::tests
