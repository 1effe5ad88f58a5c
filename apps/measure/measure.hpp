// The measuring program, for any transport.
#pragma once

#include "world.hpp"

namespace stretto::measure {

// Collective. Reads the arguments, measures, and prints on rank 0. Returns the exit status; throws std::runtime_error
// if a measurement failed.
int measure(int argc, char** argv, const World& world);

}  // namespace stretto::measure
