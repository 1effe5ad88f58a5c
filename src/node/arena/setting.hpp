// Numbers of bytes that a user wrote into the environment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

// Digits, and K, M, G or T (or k, m, g, t) for powers of 1024: "65536", "64K". False for anything else, and beyond 64 bits.
bool parse_bytes(const char* text, std::uint64_t* bytes) noexcept;

struct Complaint {
  char text[192] = "";
};

// What the variable says; `otherwise` where it is not set or empty, and where it is no number of bytes, which `complaint` then says.
std::uint64_t bytes_from(const char* variable, std::uint64_t otherwise, Complaint* complaint) noexcept;

}  // namespace stretto::node::arena
