// What lies in the segment of a group: single-writer cache lines with monotone numbers, and the rooms that bytes travel through.
//
// The work of a group is cut in *rounds*, numbered from 0 over its whole life and counted alike by all ranks. In a
// round a rank may fill one line, line `round % kLines` of its own, and publishes it by storing round + 1 in it
// (release). A reader waits for that number (acquire). A line carries up to kInline bytes itself; more lie in a room of
// the same rank, by the length that all ranks know: the small one that belongs to the line, or slot `round % kSlots`.
//
// Each rank tells how many rounds it is done with. A line and its small room are filled anew kLines rounds later, only
// when all readers of their last contents are done with that round; a slot kSlots rounds later. So only small rounds
// let a rank be far ahead of the others. Each line has one writer, no number ever decreases, and nothing is reset. A
// slot has one writer, too. But a reduction of two ranks may lend the slot to the other rank, between publishing the
// slot and the other's next line (Group::lent_slot).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/group/bell.hpp"

namespace stretto::node {

constexpr std::size_t kLine = 64;
constexpr std::size_t kInline = 48;   // bytes of payload that travel in the line itself
constexpr std::size_t kLines = 64;    // rounds that a rank may be ahead of those who read it
constexpr std::size_t kSmall = 1024;  // bytes of the small room that follows each line
constexpr std::size_t kMutual = 256;  // bytes up to which rounds in which all read all use small rooms
constexpr std::size_t kSlots = 4;
constexpr std::size_t kCalls = 4 * kLines;  // a rank's last calls, for diagnoses: more than a rank may be ahead

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

struct alignas(kLine) Line {
  std::atomic<std::uint64_t> number;     // round + 1 of what the line holds
  std::atomic<std::uint64_t> signature;  // of the rank's calls up to this one, to find ranks that called differently
  std::byte payload[kInline];
};
static_assert(sizeof(Line) == kLine);

// A line and what it has room for: an even number of cache lines, so that a reader of the one gets the next with it.
struct alignas(2 * kLine) Place {
  Line line;
  std::byte small[kSmall];
};
static_assert(offsetof(Place, small) == kLine && sizeof(Place) % (2 * kLine) == 0);

// How many rounds a rank is done with, and the signature of the call in which it says so, in one word: telling takes
// one store, and waiting peers see both at once. Half of the word is the rounds. Of the other half, as many bits as
// number the last kCalls calls say which call it was; the rest is the signature.
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
  // `near`: a number of rounds that is less than 2^31 away from the one told.
  static std::uint64_t rounds_of(std::uint64_t word, std::uint64_t near) noexcept {
    const std::uint32_t away = static_cast<std::uint32_t>(word) - static_cast<std::uint32_t>(near);
    return near + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(away)});
  }
};

// What a rank says of itself.
struct State {
  // What this rank will not read any more (Done); may lag (Group::done_later).
  alignas(kLine) std::atomic<std::uint64_t> done;
  std::atomic<std::uint64_t> refused;  // the last collective in which it was not let at what a peer exposed
  alignas(kLine) std::atomic<std::uint64_t> calls;  // collectives entered
  std::atomic<std::uint64_t> returned;              // collectives left
  std::atomic<std::uint64_t> began;                 // by Group::began()
  Bell bell;                                        // of ranks that wait for this one
  struct alignas(4 * sizeof(std::uint64_t)) Called {
    std::atomic<std::uint64_t> kind;  // CallRecord::packed()
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> signature;
  };
  alignas(kLine) Called called[kCalls];  // collective c, counted from 1, at c % kCalls
  struct Bound {
    std::atomic<std::uint64_t> eps, magnitude;  // bits of those of Call
  };
  Bound bounds[kCalls];  // of those calls that have one
};
static_assert(sizeof(State) % kLine == 0);

// At the start of the segment; all zero at first.
struct alignas(kLine) Head {
  std::atomic<std::uint32_t> broken;  // 0: no; 1: somebody is writing why; 2: `text` says why
  std::uint32_t status;               // of the failure
  std::uint32_t differed;             // 1: since ranks had called different collectives
  char text[436];
};

// A segment has room for two groups of the same ranks (Group::beside), one after the other. Pages of the second are touched when it is used.
constexpr std::size_t kLanes = 2;

// Where everything of one group is: after the states, the places and slots of each rank in turn. Each rank's begin on a page, so
// that the rank's first touch places them.
struct Layout {
  std::size_t ranks = 1;
  std::size_t slot = 0;  // bytes of a slot

  std::size_t states() const noexcept { return sizeof(Head); }
  std::size_t bytes() const noexcept { return rooms() + ranks * rank_bytes(); }
  std::size_t places(std::size_t rank) const noexcept { return rooms() + rank * rank_bytes(); }
  std::size_t slots(std::size_t rank) const noexcept { return places(rank) + pages(kLines * sizeof(Place)); }
  // From one slot to the next: not a power of two, for the sake of the caches.
  std::size_t stride() const noexcept { return pages(slot + kLine); }

 private:
  std::size_t rooms() const noexcept { return pages(states() + ranks * sizeof(State)); }
  std::size_t rank_bytes() const noexcept { return pages(kLines * sizeof(Place)) + kSlots * stride(); }
  static std::size_t pages(std::size_t n) noexcept { return (n + 4095) / 4096 * 4096; }
};

}  // namespace stretto::node
