// What the programs do, whatever their messages go over.
#pragma once

#include "world.hpp"

namespace stretto::measure {

// Collective. Reads the arguments, measures and prints, on rank 0. The exit status; throws std::runtime_error where a measurement failed.
int measure(int argc, char** argv, const World& world);

}  // namespace stretto::measure
