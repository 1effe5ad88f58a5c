// What the tests of a host's shared memory share: all launched ranks are on this host, and options ask for its memory.
#pragma once

#include "../api/launched_ranks.hpp"

namespace api_test {

class NodeBackend : public LaunchedRanks {
 protected:
  stretto_options node = by("node");
};

}  // namespace api_test
