#pragma once

#include <string>
#include <string_view>

namespace stretto::mpi {

// A remark on a name one slip away from a variable of stretto, or "".
std::string slip_in(std::string_view name);

}  // namespace stretto::mpi
