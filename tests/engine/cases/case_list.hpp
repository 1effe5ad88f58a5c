// Which cases are run.
#pragma once

#include <cstddef>
#include <vector>

#include "cases.hpp"

namespace stretto::tests {

// Always among the cases: one of each schedule with each payload, or with each payload and each operation that it
// supports.
enum class Each { payload, operation };

// All schedules with each payload over counts (0, 1, fewer than ranks, odd, several segments), roots (first, middle,
// last), and every operation on a count that is compressed. Types, cuts, groups and in-place calls are drawn. Every
// `stride`-th case, beside those of `each`.
std::vector<Case> all_cases(int ranks, Each each, std::size_t stride);

// All algorithms with each payload that compresses, with raw messages on links inside nodes, below some size, and both.
// `groups` define the nodes; algorithms without groups that only move data use them as links, too. Every `stride`-th
// case.
std::vector<Case> mixed_cases(const schedule::Groups& groups, std::size_t stride);

}  // namespace stretto::tests
