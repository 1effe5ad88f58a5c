// What a caller is told of what ran.
#pragma once

#include "stretto/stretto.h"

namespace stretto::api {

// Reported of a barrier that needed no more than the agreement.
inline constexpr const char* agreement_name = "agreement";

// Cut to fit, zero-terminated.
void set_name(char (&to)[STRETTO_NAME_MAX], const char* name) noexcept;

// Fills as much of *out as its size says; nothing when it is null.
void deliver(const stretto_report& report, stretto_report* out) noexcept;

}  // namespace stretto::api
