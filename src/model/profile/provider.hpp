#pragma once

#include <cstdint>

namespace stretto::model {

enum class Provider : std::uint8_t { schedules, mpi, node, device };

}  // namespace stretto::model
