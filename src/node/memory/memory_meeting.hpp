// What the making of a Memory takes while the ranks meet: room that is there before they do.
#pragma once

#include <vector>

#include "node/memory/memory.hpp"

namespace stretto::node {

struct Memory::Meeting {
  Exchange& exchange;
  Gathering gathering;
  std::vector<char> skip;          // whose arena is mapped here already
  std::vector<Descriptor> passed;  // arenas of the others
};

}  // namespace stretto::node
