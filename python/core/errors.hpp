// Failures of the C interface as exceptions of stretto.errors.
#pragma once

#include <string>

#include "stretto/stretto.h"

namespace stretto::python {

// Throws the exception of the status with this thread's message, unless it is STRETTO_OK. Needs the GIL.
void check(stretto_status status);

// Throws the exception of a status with a given message. Needs the GIL.
[[noreturn]] void raise(stretto_status status, const std::string& message);

}  // namespace stretto::python
