// What a caller is told of what ran.
#pragma once

#include "stretto/stretto.h"

namespace stretto::api {

// Cut to fit, zero-terminated.
void set_name(char (&to)[STRETTO_NAME_MAX], const char* name) noexcept;

// Fills as much of *out as its size says; nothing when it is null.
void deliver(const stretto_report& report, stretto_report* out) noexcept;

}  // namespace stretto::api
