// Many ranks: systems side by side, over numbers of ranks and sizes.
#pragma once

#include "../arguments.hpp"
#include "../write.hpp"

namespace stretto::app {

struct Study {
  std::string kind = "weak";         // weak: `bytes` on each rank; strong: `bytes` / ranks on each
  std::vector<int> ranks;            // empty: 8, 16, ..., 131072
  std::vector<std::string> sizes;    // empty: the size in the arguments
  std::vector<std::string> systems;  // empty: all
};

Json simulate(const Arguments& arguments, Study study);
std::string simulate_text(const Json& result);

}  // namespace stretto::app
