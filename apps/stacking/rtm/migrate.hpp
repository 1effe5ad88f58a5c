// Reverse time migration of one shot.
//
// The source's wavefield runs forward through the smooth velocity, and the recorded data run backward in time from the
// receivers. Reflectors are where both coincide in place and time. The image is their correlation at zero lag, divided
// by the source's illumination. A Laplacian removes the smooth artifacts of back-scattering.
#pragma once

#include <functional>

#include "rtm/field.hpp"
#include "rtm/survey.hpp"

namespace stretto::stacking::rtm {

// Called at every tenth of a shot's work with the tenths done, 1..10; may be empty.
using Tick = std::function<void(int tenths)>;
inline constexpr int kTicksPerShot = 10;

// The partial image of one shot over `truth`, migrated with `smooth`. Data modelled in `smooth` are subtracted, which
// removes the direct arrival and all waves that turn without reflecting. Deterministic.
Field migrate_shot(const Field& truth, const Field& smooth, const Survey& s, int shot, const Tick& tick = {});

// Negative Laplacian, second order; zero on the border.
Field negative_laplacian(const Field& f);

}  // namespace stretto::stacking::rtm
