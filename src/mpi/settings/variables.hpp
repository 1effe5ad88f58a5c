// Names of stretto's environment variables, to detect misspelt settings, which would be ignored silently.
#pragma once

#include <string>
#include <string_view>

namespace stretto::mpi {

// Warning about a name that is a slip away from a variable of ours; "" otherwise. Names unlike ours may belong to
// others.
std::string slip_in(std::string_view name);

}  // namespace stretto::mpi
