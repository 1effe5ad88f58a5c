// Collectives whose times a profile holds as measured, by any provider.
#pragma once

#include <cstddef>

#include "parts.hpp"
#include "schedule/schedule.hpp"

namespace stretto::measure {

// A provider's collectives over vectors of floats: `whole` floats of operand, or `block` floats of each block. Throws
// where one fails.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual void run(schedule::Collective collective, const float* in, float* out, std::size_t whole, std::size_t block,
                   int root) = 0;
};

// Collective. A row for each collective and size, with bytes as model::Native counts them.
void collectives(const Job& job, Part part, Provider& provider);

// Two protocols of one collective, at lengths around the one from which the second is faster.
struct Switch {
  const char* name;
  schedule::Collective collective;
  Provider *shorter, *longer;     // who should serve what is shorter, and longer
  std::size_t smallest, largest;  // bytes, as model::Native counts them
  std::size_t parts = 1;          // blocks that these bytes are, where the switch is one of blocks
};

// Collective. A row for each switch and length, in turns.
void compare(const Job& job, Part part, const std::vector<Switch>& switches);

}  // namespace stretto::measure
