// Failures of the C interface as exceptions of stretto.errors.
#pragma once

#include <string>

#include "stretto/stretto.h"

namespace stretto::python {

// Nothing for STRETTO_OK; else throws the exception of that status with this thread's message. Needs the GIL.
void check(stretto_status status);

// Throws the exception of a status, with a message of our own. Needs the GIL.
[[noreturn]] void raise(stretto_status status, const std::string& message);

}  // namespace stretto::python
