// Layout of a group's segment: single-writer cache lines with monotone numbers, and memory for rounds.
//
// *Rounds* are numbered from 0 over a group's life, alike on all ranks. In a round a rank may fill its line `round %
// kLines`, and publishes it by storing round + 1 in it (release). A reader waits for that number (acquire). Data beyond
// kInline bytes lie in the line's small room, or in slot `round % kSlots`; all ranks know the length.
//
// Each rank announces the rounds that it is done with. A line and its small room are refilled kLines rounds later, a
// slot kSlots rounds later, after all readers are done. Each line and slot has one writer, no number ever decreases,
// and nothing is reset. A reduction of two ranks may lend a slot to the peer, from its publication until the peer's
// next line (Group::lent_slot).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/group/bell.hpp"

namespace stretto::node {

constexpr std::size_t kLine = 64;
constexpr std::size_t kInline = 48;   // bytes of payload in the line
constexpr std::size_t kLines = 64;    // rounds that a writer may be ahead of its readers
constexpr std::size_t kSmall = 1024;  // bytes of the room that follows each line
constexpr std::size_t kMutual = 256;  // bytes up to which mutual rounds use small rooms
constexpr std::size_t kSlots = 4;
// records of a rank's last calls, for diagnoses: more than a rank may be ahead
constexpr std::size_t kCalls = 4 * kLines;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

struct alignas(kLine) Line {
  std::atomic<std::uint64_t> number;
  std::atomic<std::uint64_t> signature;
  std::byte payload[kInline];
};
static_assert(sizeof(Line) == kLine);

// An even number of cache lines: the adjacent-line prefetcher fetches the room with the line.
struct alignas(2 * kLine) Place {
  Line line;
  std::byte small[kSmall];
};
static_assert(offsetof(Place, small) == kLine && sizeof(Place) % (2 * kLine) == 0);

// A rank's progress, announced by one store. The low half counts finished rounds. The high half has the current call's
// number modulo kCalls, and bits of its signature.
struct Done {
  static constexpr std::uint64_t kCallBits = kCalls - 1;
  static_assert((kCalls & kCallBits) == 0);

  static std::uint32_t token(std::uint64_t call, std::uint64_t signature) noexcept {
    return static_cast<std::uint32_t>((signature >> 32 & ~kCallBits) | (call & kCallBits));
  }
  static std::uint64_t word(std::uint64_t rounds, std::uint32_t token) noexcept {
    return std::uint64_t{token} << 32 | static_cast<std::uint32_t>(rounds);
  }
  static std::uint32_t token_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }
  // `near`: less than 2^31 rounds away.
  static std::uint64_t rounds_of(std::uint64_t word, std::uint64_t near) noexcept {
    const std::uint32_t away = static_cast<std::uint32_t>(word) - static_cast<std::uint32_t>(near);
    return near + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(away)});
  }
};

struct State {
  // May lag (Group::done_later).
  alignas(kLine) std::atomic<std::uint64_t> done;
  std::atomic<std::uint64_t> refused;  // last collective with failed access to a peer's exposed memory
  std::atomic<std::uint32_t> freed;    // 1: the rank has ended its group, and calls nothing more
  alignas(kLine) std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> returned;
  std::atomic<std::uint64_t> began;
  Bell bell;
  struct alignas(4 * sizeof(std::uint64_t)) Called {
    std::atomic<std::uint64_t> kind;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> signature;
  };
  alignas(kLine) Called called[kCalls];  // collective c, counted from 1, at c % kCalls
  struct Bound {
    std::atomic<std::uint64_t> eps, magnitude;
  };
  Bound bounds[kCalls];
};
static_assert(sizeof(State) % kLine == 0);

// At the start of the segment; all zero at first.
struct alignas(kLine) Head {
  std::atomic<std::uint32_t> broken;  // 0: no; 1: a rank is writing the reason; 2: `text` is valid
  std::uint32_t status;
  std::uint32_t differed;           // 1: the ranks had called different collectives
  std::atomic<std::uint32_t> sent;  // Group::messages_sent
  char text[432];
};

// Consecutive groups of the same ranks (Group::beside). The second is touched on first use.
constexpr std::size_t kLanes = 2;

struct Pages {
  std::size_t at, bytes;
};

// Offsets in a group: the states, then the places and slots of each rank. Each rank's part begins on a page, so that
// its first touch decides the NUMA node.
struct Layout {
  std::size_t ranks = 1;
  std::size_t slot = 0;  // bytes

  std::size_t states() const noexcept { return sizeof(Head); }
  std::size_t bytes() const noexcept { return rooms() + ranks * rank_bytes(); }
  std::size_t places(std::size_t rank) const noexcept { return rooms() + rank * rank_bytes(); }
  std::size_t slots(std::size_t rank) const noexcept { return places(rank) + pages(kLines * sizeof(Place)); }
  // A power of two would cause cache conflicts.
  std::size_t stride() const noexcept { return pages(slot + kLine); }
  // Units are sixty-fourths of a slot, in whole pages. units() has a bit for each that overlaps [at, at + bytes) of a
  // slot, with bytes > 0.
  std::size_t unit() const noexcept { return pages((stride() + 63) / 64); }
  std::uint64_t units(std::size_t at, std::size_t bytes) const noexcept {
    const std::size_t first = at / unit(), last = (at + bytes - 1) / unit();
    return ~std::uint64_t{0} >> (63 - last) & ~std::uint64_t{0} << first;
  }
  // Whole pages, but for a first page that holds the end of the state before.
  Pages states_of(std::size_t rank) const noexcept {
    const auto end = [this](std::size_t r) { return r == 0 ? 0 : pages(states() + r * sizeof(State)); };
    return {end(rank), end(rank + 1) - end(rank)};
  }

 private:
  std::size_t rooms() const noexcept { return pages(states() + ranks * sizeof(State)); }
  std::size_t rank_bytes() const noexcept { return pages(kLines * sizeof(Place)) + kSlots * stride(); }
  static std::size_t pages(std::size_t n) noexcept { return (n + 4095) / 4096 * 4096; }
};

}  // namespace stretto::node
