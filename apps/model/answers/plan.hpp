// Suitable numbers of ranks and communication cores of a program on a node, by split trees in seconds.
#pragma once

#include "../work.hpp"
#include "../write.hpp"

namespace stretto::app {

struct Plan {
  int cores = 0;           // of the node; 0: from the profile
  int most = 30;           // levels of a tree that run on the ranks' cores
  std::vector<int> ranks;  // empty: from half the cores on
  std::string work;        // "compute 20ms, ireduce 2M, repeat 100"; or
  std::string from;        // the report of a run of `seconds`
  double seconds = 0;
  bool started = false;  // treats blocking collectives as if they were started before the work
};

Json plan(const Arguments& arguments, const Plan& asked);
std::string plan_text(const Json& result);

}  // namespace stretto::app
