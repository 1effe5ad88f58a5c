#include "model/walk/clock.hpp"

#include "model/walk/walks.hpp"

namespace stretto::model {

Prediction predict(const Programs& programs, const System& system, const Machine& machine, const Run& run) {
  if (system.halves) {
    System rest = system;
    rest.halves = false;
    return predict(programs, rest, with_halves(machine), run);
  }
  return run.overlap ? walk_overlapped(programs, system, machine, run) : walk_in_rounds(programs, system, machine, run);
}

}  // namespace stretto::model
