// Work that hides a split tree, over numbers of ranks of a node.
#pragma once

#include "../write.hpp"
#include "simulate.hpp"

namespace stretto::app {

struct Overlap {
  int cores = 64;
  int most = 3;                 // levels that run before the work
  std::string edges = "alike";  // or double, as in gather and scatter
};

// For the study's ranks; by default, from half the cores on.
Json overlap(const Overlap& asked, const Study& study);
std::string overlap_text(const Json& result);

}  // namespace stretto::app
