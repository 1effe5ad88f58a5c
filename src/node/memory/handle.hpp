// Passes descriptors between processes, without names that others could open: by /proc/PID/fd, if this process may
// trace the owner (same user and user namespace; Yama does not matter), else by SCM_RIGHTS, over an abstract socket of
// a random name, to callers of its own user that present a token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

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

// unsupported: the kernel gives none (seccomp, Linux before 3.17).
using Token = std::array<std::uint64_t, 2>;
Status random_token(Token* token) noexcept;

// How peers get a descriptor of this rank's. Ranks exchange offers, open what they can, and ask for the rest.
struct Offer {
  std::int32_t pid = 0;
  std::int32_t fd = -1;                 // -1: nothing is offered, or not wanted
  std::uint64_t device = 0, inode = 0;  // of the file, to recognise a stranger's descriptor
  Token name{}, token{};                // name of the socket, and secret of the permitted processes
};

// fd -1 offers nothing.
Status make_offer(int fd, Offer* offer) noexcept;

// By rank; this rank's own is left out. all[r]: a descriptor of rank r's file, where it offers one. Returns whether
// all are there; else this rank has to ask.
bool open_offers(Passing passing, int rank, std::span<const Offer> offers, std::span<Descriptor> all) noexcept;

// Asks for the rest of `offers`, if any, and serves other ranks that ask. Collective; a failure may be this rank's
// alone.
Status ask_for_offers(Exchange& exchange, const Offer& own, std::span<const Offer> offers,
                      std::span<Descriptor> all) noexcept;

// The process at the other end belongs to this user, or to a user without a number here (another user namespace), whom
// the token alone identifies.
bool of_this_user(int connection) noexcept;

}  // namespace stretto::node
