#pragma once

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

int perform(const WrappedCall& call, Native native) noexcept;

}  // namespace stretto::mpi
