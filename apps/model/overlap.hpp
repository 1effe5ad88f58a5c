// What a split tree hides behind work, over numbers of ranks of a node.
#pragma once

#include "simulate.hpp"
#include "write.hpp"

namespace stretto::app {

struct Overlap {
  int cores = 64;
  int most = 3;                 // levels that run before the work
  std::string edges = "alike";  // or double, as of gather and scatter
};

// The study's ranks; where it has none, from half the cores on.
Json overlap(const Overlap& asked, const Study& study);
std::string overlap_text(const Json& result);

}  // namespace stretto::app
