// Descriptors of shared memory, handed from one process to another without a name that anybody else could open.
//
// Two ways. /proc/PID/fd opens what the other process holds; the kernel allows it to a process that might trace the other one
// (same user, same user namespace; Yama does not matter). Otherwise SCM_RIGHTS: each rank listens on an abstract socket of
// a random name, and gives its descriptor to whoever of its user shows the token that only the ranks know, for it passed through their exchange.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "node/group/exchange.hpp"

namespace stretto::node {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  // Of the same, with a number out of the program's way: never that of a standard stream, which may be closed.
  static Descriptor aside(int fd) noexcept;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  void leave() noexcept { fd_ = -1; }  // to somebody else: it is not closed
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class Passing : std::uint8_t { proc_then_socket, socket_only };

// Collective. `offered`: a descriptor of this rank, or -1. (*all)[r]: a descriptor of what rank r offers; empty for this rank's own, for
// ranks that offer nothing, and for those in `skip` (may be empty: nobody; else one flag a rank, 1: not wanted).
// Fails on every rank if it fails on one.
Status pass_descriptors(Exchange& exchange, int offered, const std::vector<char>& skip, Passing passing,
                        std::vector<Descriptor>* all) noexcept;

// Whether the process at the other end of a socket is of the user that this one is of; or of one that has no number here (another
// user namespace), whom nothing but a token tells from a stranger.
bool of_this_user(int connection) noexcept;

// Collective. The status of the first rank that failed, on every rank; the message of the others names it.
Status agree(Exchange& exchange, Status mine) noexcept;

// Random bytes of the kernel, for names and tokens. unsupported: the kernel gives this process none (seccomp, Linux before 3.17).
using Token = std::array<std::uint64_t, 2>;
Status random_token(Token* token) noexcept;

}  // namespace stretto::node
