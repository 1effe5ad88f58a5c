// Names of schedules, as callers force them and reports show them, and their numbers for the agreement.
#pragma once

namespace stretto::call {

// The MPI's own collectives, and those of the memory that ranks of one host share.
inline constexpr const char* native_name = "native";
inline constexpr const char* node_name = "node";

// 0 is "chosen", -1 a name that is none.
int schedule_index(const char* name) noexcept;
const char* schedule_name(int index) noexcept;

}  // namespace stretto::call
