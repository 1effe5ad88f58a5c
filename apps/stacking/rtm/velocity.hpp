// Velocity models in m/s: the program's synthetic subsurface, and the smooth version for migration.
#pragma once

#include "rtm/field.hpp"

namespace stretto::stacking::rtm {

// Water over layers of alternating velocity. Above an unconformity they lie almost flat; below it they are folded
// and cut by two normal faults. A pure function of the size: every rank builds the same model.
// nz, nx >= 32. All values lie in [1500, 4200].
Field layered_faulted_model(int nz, int nx);

// Rows of water (1500 m/s) at the top of that model.
int water_rows(int nz);

// `model` with its slowness smoothed by `passes` box filters of half width `radius`, the first `keep_rows` rows
// untouched. Travel times survive; reflections do not.
Field smooth_slowness(const Field& model, int radius, int passes, int keep_rows);

}  // namespace stretto::stacking::rtm
