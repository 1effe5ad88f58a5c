// stretto-measure-ucx: without an MPI. Its ranks meet in a store and communicate over UCX (docs/carriers.md). If a rank
// fails, UCX notifies the others, whose waits then end, too.
#include <cstdio>
#include <exception>

#include <fmt/core.h>
#include <unistd.h>

#include "measure.hpp"

int main(int argc, char** argv) {
  try {
    return stretto::measure::measure(argc, argv, *stretto::measure::make_ucx_world());
  } catch (const std::exception& e) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    fmt::print(stderr, "stretto-measure: {}: {}\n", host, e.what());
    return 1;
  }
}
