#pragma once

#include "model/walk/clock.hpp"

namespace stretto::model {

Prediction walk_overlapped(const Programs& programs, const System& system, const Machine& machine, const Run& run);
Prediction walk_in_rounds(const Programs& programs, const System& system, const Machine& machine, const Run& run);

}  // namespace stretto::model
