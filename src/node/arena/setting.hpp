#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

// Digits and a suffix K, M, G or T (either case) for powers of 1024. False for anything else, and beyond 64 bits.
bool parse_bytes(const char* text, std::uint64_t* bytes) noexcept;

struct SettingError {
  char text[192] = "";
};

// `otherwise` if unset, empty or malformed, which *setting_error describes.
std::uint64_t bytes_from(const char* variable, std::uint64_t otherwise, SettingError* setting_error) noexcept;

}  // namespace stretto::node::arena
