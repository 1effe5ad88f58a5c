// The names of stretto's variables of the environment, for what is spelt wrong: such a setting would be without effect, and nothing would say so.
#pragma once

#include <string>
#include <string_view>

namespace stretto::mpi {

// What to tell of a variable whose name is a slip away from one of ours; empty: nothing. Names that are like none of ours may be anybody's.
std::string slip_in(std::string_view name);

}  // namespace stretto::mpi
