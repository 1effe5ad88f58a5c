// Memory files without names, under unusual descriptor numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// RLIMIT_FSIZE: a longer file raises SIGXFSZ, which ends most programs.
std::uint64_t longest_file() noexcept;

// `bytes` zero bytes, sealed against resizing and execution, closed on exec. -1 with errno; EFBIG beyond
// longest_file().
int make_anonymous(const char* name, std::size_t bytes) noexcept;

// To an unusual number: high where the limit allows, never a standard stream's. Closes `fd` if the number changes. -1:
// no number is left.
int out_of_the_way(int fd) noexcept;

// The program may have closed our descriptor and reused its number.
struct Identity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const Identity&) const = default;
};
bool identify(int fd, Identity* found) noexcept;

}  // namespace stretto::node::arena
