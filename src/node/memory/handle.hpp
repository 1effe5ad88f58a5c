// Passes descriptors between processes, without names that others could open: by /proc/PID/fd, if this process may
// trace the owner (same user and user namespace; Yama does not matter), else by SCM_RIGHTS, over an abstract socket of
// a random name, to callers of its own user that present a token.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "node/group/exchange.hpp"

namespace stretto::node {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  // Moves `fd` to an unusual number.
  static Descriptor aside(int fd) noexcept;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  void leave() noexcept { fd_ = -1; }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class Passing : std::uint8_t { proc_then_socket, socket_only };

// Collective. `offered`: a descriptor of this rank, or -1. (*all)[r]: a descriptor of rank r's file; empty for this
// rank, for ranks that offer none, and for those in `skip` (empty, or one flag per rank). Fails on every rank if it
// fails on one.
Status pass_descriptors(Exchange& exchange, int offered, const std::vector<char>& skip, Passing passing,
                        std::vector<Descriptor>* all) noexcept;

// The process at the other end belongs to this user, or to a user without a number here (another user namespace), whom
// the token alone identifies.
bool of_this_user(int connection) noexcept;

// Collective. The first failed rank's status; other ranks' messages name it.
Status agree(Exchange& exchange, Status mine) noexcept;

// unsupported: the kernel gives none (seccomp, Linux before 3.17).
using Token = std::array<std::uint64_t, 2>;
Status random_token(Token* token) noexcept;

}  // namespace stretto::node
