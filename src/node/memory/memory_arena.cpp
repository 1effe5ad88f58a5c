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

using Arenas = Shared<Origin, Mapping>;

constexpr std::size_t kOpenStep = std::size_t{64} << 20;

// Inaccessible until reached: mlockall() would populate all peers' arenas.
std::shared_ptr<Mapping> reserve(int fd, std::size_t bytes) noexcept {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  munlock(at, bytes);
  return Mapping::own(at, bytes);
}

// Null: no address space.
std::shared_ptr<Mapping> mapping_of(const Origin& arena, std::size_t bytes, int fd) noexcept {
  std::shared_ptr<Mapping> found;
  static_cast<void>(
      attempt([&] { found = Arenas::mine().get(arena, [&](std::size_t) { return reserve(fd, bytes); }); }));
  return found;
}

// The program needs most of a limited address space.
bool room_for(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur / 4;
}

}  // namespace

Status Memory::offer_arena(Setup& setup) noexcept {
  if (!setup.options.arena) return fail(Status::unsupported, std::string_view("switched off"));
  const arena::View view = arena::view();
  const char* const why = arena::remark();
  if (view.bytes == 0) return fail(Status::unsupported, "{}", *why != '\0' ? why : "a process has no arena");
  const arena::File file = arena::file();
  setup.arena = Descriptor(file.fd);
  setup.mine.arena.device = file.which.device;
  setup.mine.arena.inode = file.which.inode;
  if (const Status s = process_token(&setup.mine.arena.process); s != Status::ok) return s;
  if (const Status s = make_offer(file.fd, &setup.mine.arena_file); s != Status::ok) return s;
  setup.mine.arena_bytes = view.bytes;
  return Status::ok;
}

void Memory::find_arenas(Setup& setup) noexcept {
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const Setup::Facts& theirs = setup.all[r];
    const bool here = theirs.arena.process == setup.mine.arena.process;
    if (!here) peers_[r].mapping = Arenas::mine().find(theirs.arena);
    if (!here && !peers_[r].mapping) setup.wanted[r] = theirs.arena_file;
  }
  setup.answers.asks = !open_offers(setup.options.passing, setup.exchange.rank(), setup.wanted, setup.passed);
}

Status Memory::map_arenas(const Setup& setup) noexcept {
  std::uint64_t elsewhere = 0;
  const auto here = [&setup](std::size_t r) { return setup.all[r].arena.process == setup.mine.arena.process; };
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (!here(r)) elsewhere += setup.all[r].arena_bytes;
  if (!room_for(elsewhere))
    return fail(Status::out_of_memory, "arenas of {} bytes are more than a quarter of RLIMIT_AS", elsewhere);
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    Peer& peer = peers_[r];
    peer.arena_bytes = setup.all[r].arena_bytes;
    if (here(r)) {
      peer.arena = arena::view().base;
      peer.opened = peer.arena_bytes;
      continue;
    }
    if (!peer.mapping && !setup.passed[r])
      return fail(Status::unsupported, "the program of rank {} closed the descriptor of its arena", r);
    if (!peer.mapping) peer.mapping = mapping_of(setup.all[r].arena, peer.arena_bytes, setup.passed[r].get());
    if (!peer.mapping) return fail(Status::out_of_memory, "no address space for the arena of rank {}", r);
    peer.arena = peer.mapping->data();
  }
  return Status::ok;
}

void Memory::settle_arenas() noexcept {
  if (!usable(Access::arena)) {
    for (Peer& peer : peers_) peer.arena = nullptr, peer.arena_bytes = 0, peer.mapping.reset();
    return;
  }
  static_cast<void>(attempt([&] {
    if (const char* remark = arena::remark(); *remark != '\0') {
      auto& reason = reason_[static_cast<std::size_t>(Access::arena)];
      reason = fmt::format("{} ({})", reason, remark);
    }
  }));
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
