// Arenas of peers, mapped once a process however many memories it has.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>

#include "node/arena/arena.hpp"
#include "node/memory_meeting.hpp"
#include "node/shared.hpp"

namespace stretto::node {
namespace {

// Which memory it is: the process that holds it, and the file, whose number is its own as long as anybody has it mapped.
struct Origin {
  Token process{};
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const Origin&) const = default;
};

struct Offer {
  Origin origin;
  std::uint64_t bytes = 0;
};

using Arenas = Shared<Origin, Mapping>;

std::shared_ptr<Mapping> map(int fd, std::size_t bytes) noexcept {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return at == MAP_FAILED ? nullptr : Mapping::own(at, bytes);
}

Offer offer_of(const arena::View& view) noexcept {
  Offer offer;
  offer.origin.process = process_token();
  struct stat found {};
  if (view.bytes == 0 || fstat(view.fd, &found) != 0) return offer;
  offer.origin.device = found.st_dev;
  offer.origin.inode = found.st_ino;
  offer.bytes = view.bytes;
  return offer;
}

// Peers' arenas take a quarter of a limited address space at most: the rest is the program's.
bool room_for(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur / 4;
}

}  // namespace

Status Memory::build_arenas(Meeting& meeting, const MemoryOptions& options) noexcept {
  const arena::View mine = options.arena ? arena::view() : arena::View{};
  const Offer own = offer_of(mine);
  std::span<const Offer> offers;
  if (const Status s = meeting.gathering(meeting.exchange, own, &offers); s != Status::ok) return s;
  if (std::any_of(offers.begin(), offers.end(), [](const Offer& o) { return o.bytes == 0; }))
    return settle(meeting, Access::arena, own.bytes > 0, options.arena ? "a process has no arena" : "switched off");

  std::uint64_t elsewhere = 0;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const bool here = offers[r].origin.process == own.origin.process;
    if (!here) elsewhere += offers[r].bytes;
    if (!here) peers_[r].mapping = Arenas::mine().find(offers[r].origin);
    meeting.skip[r] = here || peers_[r].mapping ? 1 : 0;
  }
  char why[160] = "";
  bool can = pass_descriptors(meeting.exchange, mine.fd, meeting.skip, options.passing, &meeting.passed) == Status::ok;
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
      continue;
    }
    try {
      if (!peer.mapping)
        peer.mapping = Arenas::mine().get(offers[r].origin,
                                          [&](std::size_t) { return map(meeting.passed[r].get(), peer.arena_bytes); });
    } catch (const std::bad_alloc&) {
    }
    can = peer.mapping != nullptr;
    if (can)
      peer.arena = peer.mapping->data();
    else
      fmt::format_to_n(why, sizeof why - 1, "no address space for the arena of rank {}", r);
  }
  meeting.passed.clear();
  const Status s = settle(meeting, Access::arena, can, why);
  if (usable(Access::arena)) return s;
  for (Peer& peer : peers_) peer.arena = nullptr, peer.arena_bytes = 0, peer.mapping.reset();
  return s;
}

}  // namespace stretto::node
