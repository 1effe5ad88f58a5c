// Measured collectives of a profile, by any provider.
#pragma once

#include <cstddef>

#include "costs/parts.hpp"
#include "schedule/schedule.hpp"

namespace stretto::measure {

// A provider's collectives over vectors of floats: `whole` floats of operand, or `block` floats per block. Throws on
// failure.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual void run(schedule::Collective collective, const float* in, float* out, std::size_t whole, std::size_t block,
                   int root) = 0;
};

// Collective. A row for each collective and size, with bytes as model::Native counts them.
void collectives(const Job& job, Part part, Provider& provider);

// Two protocols of a collective, compared at lengths around the switch to the second.
struct Switch {
  const char* name;
  schedule::Collective collective;
  Provider *shorter, *longer;     // providers of the shorter and of the longer lengths
  std::size_t smallest, largest;  // bytes, as model::Native counts them
  std::size_t parts = 1;          // number of blocks in these bytes, if the switch depends on the block
};

// Collective. A row for each switch and length, in turns.
void compare(const Job& job, Part part, const std::vector<Switch>& switches);

}  // namespace stretto::measure
