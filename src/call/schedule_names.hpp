#pragma once

#include <string>
#include <vector>

namespace stretto::call {

inline constexpr const char* kNativeName = "native";
inline constexpr const char* kNodeName = "node";

// 0 is "chosen", -1 unknown.
int schedule_index(const char* name) noexcept;
const char* schedule_name(int index) noexcept;

std::vector<std::string> schedule_names();

}  // namespace stretto::call
