#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/guarded.hpp"
#include "node/arena/arena.hpp"
#include "node/memory/memory_setup.hpp"
#include "node/memory/shared.hpp"

namespace stretto::node {
namespace {

// A file's inode is unique while it is mapped.
struct Origin {
  Token process{};
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const Origin&) const = default;
};

struct ArenaOffer {
  Origin origin;
  std::uint64_t bytes = 0;
};

using Arenas = Shared<Origin, Mapping>;

constexpr std::size_t kOpenStep = std::size_t{64} << 20;

// Inaccessible until reached: mlockall() would populate all peers' arenas.
std::shared_ptr<Mapping> reserve(int fd, std::size_t bytes) noexcept {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  munlock(at, bytes);
  return Mapping::own(at, bytes);
}

ArenaOffer offer_of(const arena::View& view, const arena::File& file) noexcept {
  ArenaOffer offer;
  if (process_token(&offer.origin.process) != Status::ok || view.bytes == 0) return offer;
  offer.origin.device = file.which.device;
  offer.origin.inode = file.which.inode;
  offer.bytes = view.bytes;
  return offer;
}

// Null: no address space.
std::shared_ptr<Mapping> mapping_of(const ArenaOffer& offer, int fd) noexcept {
  std::shared_ptr<Mapping> found;
  static_cast<void>(attempt(
      [&] { found = Arenas::mine().get(offer.origin, [&](std::size_t) { return reserve(fd, offer.bytes); }); }));
  return found;
}

const char* missing() noexcept {
  const char* why = arena::remark();
  return *why != '\0' ? why : "a process has no arena";
}

// The program needs most of a limited address space.
bool room_for(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur / 4;
}

}  // namespace

Status Memory::build_arenas(Setup& setup, const MemoryOptions& options) noexcept {
  const arena::View mine = options.arena ? arena::view() : arena::View{};
  const arena::File file = mine.bytes > 0 ? arena::file() : arena::File{};
  const Descriptor offered(file.fd);
  const ArenaOffer own = offer_of(mine, file);
  std::span<const ArenaOffer> offers;
  if (const Status s = setup.gathering(setup.exchange, own, &offers); s != Status::ok) return s;
  if (std::any_of(offers.begin(), offers.end(), [](const ArenaOffer& o) { return o.bytes == 0; }))
    return settle(setup, Access::arena, own.bytes > 0, options.arena ? missing() : "switched off");

  std::uint64_t elsewhere = 0;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const bool here = offers[r].origin.process == own.origin.process;
    if (!here) elsewhere += offers[r].bytes;
    if (!here) peers_[r].mapping = Arenas::mine().find(offers[r].origin);
    setup.skip[r] = here || peers_[r].mapping ? 1 : 0;
  }
  char why[160] = "";
  bool can = pass_descriptors(setup.exchange, offered.get(), setup.skip, options.passing, &setup.passed) == Status::ok;
  if (!can) std::string_view(message()).copy(why, sizeof why - 1);
  if (can && !room_for(elsewhere)) {
    can = false;
    fmt::format_to_n(why, sizeof why - 1, "arenas of {} bytes are more than a quarter of RLIMIT_AS", elsewhere);
  }
  for (std::size_t r = 0; can && r < peers_.size(); ++r) {
    Peer& peer = peers_[r];
    peer.arena_bytes = offers[r].bytes;
    if (offers[r].origin.process == own.origin.process) {
      peer.arena = mine.base;
      peer.opened = peer.arena_bytes;
      continue;
    }
    if (!peer.mapping && !setup.passed[r]) {
      can = false;
      fmt::format_to_n(why, sizeof why - 1, "the program of rank {} closed the descriptor of its arena", r);
      break;
    }
    if (!peer.mapping) peer.mapping = mapping_of(offers[r], setup.passed[r].get());
    can = peer.mapping != nullptr;
    if (can)
      peer.arena = peer.mapping->data();
    else
      fmt::format_to_n(why, sizeof why - 1, "no address space for the arena of rank {}", r);
  }
  setup.passed.clear();
  const Status s = settle(setup, Access::arena, can, why);
  if (usable(Access::arena)) {
    static_cast<void>(attempt([&] {
      if (const char* remark = arena::remark(); *remark != '\0') {
        auto& reason = reason_[static_cast<std::size_t>(Access::arena)];
        reason = fmt::format("{} ({})", reason, remark);
      }
    }));
    return s;
  }
  for (Peer& peer : peers_) peer.arena = nullptr, peer.arena_bytes = 0, peer.mapping.reset();
  return s;
}

// Null beyond the arena's end.
std::byte* Memory::reach_arena(Peer& peer, std::uint64_t at, std::size_t bytes) noexcept {
  const std::uint64_t end = at + bytes;
  if (end > peer.arena_bytes || end < at) {
    errno = ERANGE;  // for the message of Memory::read()
    return nullptr;
  }
  if (end > peer.opened) {
    // From the start: other memories of this process may have opened more.
    const std::size_t until = std::min(peer.arena_bytes, (end + kOpenStep - 1) / kOpenStep * kOpenStep);
    if (mprotect(peer.arena, until, PROT_READ | PROT_WRITE) != 0) return nullptr;
    peer.opened = until;
  }
  return peer.arena + at;
}

}  // namespace stretto::node
