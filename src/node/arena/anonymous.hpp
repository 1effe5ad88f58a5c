// Anonymous files of memory, and the numbers of descriptors that this library holds in a program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// Bytes that a file of this process may have (RLIMIT_FSIZE). A process that makes a longer file gets a signal, SIGXFSZ,
// that ends most programs.
std::uint64_t longest_file() noexcept;

// A file of so many zero bytes that has no name, sealed against resizing and running; closed on exec. -1 and errno on failure, EFBIG where
// it would be longer than longest_file().
int make_anonymous(const char* name, std::size_t bytes) noexcept;

// The same descriptor with a number that the program does not expect: high where the limit allows, and never 0, 1 or 2,
// which a program that was started without them takes for its standard streams. Takes `fd` (closes it where the number
// changes); -1 if there is none left.
int out_of_the_way(int fd) noexcept;

// Which file a descriptor is of: a program may have closed ours and got its number for a file of its own.
struct Identity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const Identity&) const = default;
};
bool identify(int fd, Identity* found) noexcept;

}  // namespace stretto::node::arena
