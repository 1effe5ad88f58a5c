// Allocated before the ranks' first exchange.
#pragma once

#include <vector>

#include "node/memory/memory.hpp"

namespace stretto::node {

struct Memory::Setup {
  Exchange& exchange;
  GatherBuffer gathering;
  std::vector<char> skip;
  std::vector<Descriptor> passed;
};

}  // namespace stretto::node
