// What lies in the segment of a group: single-writer cache lines with monotone numbers, and the slots that bytes travel through.
//
// The work of a group is cut in *rounds*, numbered from 0 over its whole life and counted alike by all ranks. In a round a rank may fill
// one slot, slot `round % kSlots` of its own, and publishes it by storing round + 1 in the slot's line (release). Who reads it waits for
// that number (acquire). Each rank also tells how many rounds it is done with; a slot is filled anew only when all who
// read its last contents are done with that round. So each line has one writer, no number ever decreases, and nothing is reset.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto::node {

constexpr std::size_t kLine = 64;
constexpr std::size_t kInline = 48;  // bytes of payload that travel in the line itself
constexpr std::size_t kSlots = 4;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// The head of a slot; the slot's body follows it at once.
struct alignas(kLine) Line {
  std::atomic<std::uint64_t> number;  // round + 1 of what the slot holds
  std::uint32_t signature;            // of the call, to find ranks that called differently
  std::uint32_t reserved;
  std::byte payload[kInline];

  std::byte* body() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* body() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(Line) == kLine);

// What a rank says of itself.
struct alignas(kLine) State {
  std::atomic<std::uint64_t> done;   // rounds whose slots this rank will not read any more
  std::atomic<std::uint64_t> calls;  // collectives entered; the rest describes the last of them
  std::atomic<std::uint64_t> kind;   // Call::packed()
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> eps;       // bits of Call::eps
  std::atomic<std::uint64_t> returned;  // collectives left
  std::atomic<std::uint64_t> began;     // by Group::began()
};
static_assert(sizeof(State) == kLine);

// At the start of the segment; all zero at first.
struct alignas(kLine) Head {
  std::atomic<std::uint32_t> broken;  // 0: no; 1: somebody is writing why; 2: `text` says why
  std::uint32_t status;               // of the failure
  char text[440];
};

// Where everything is. Slots are page aligned, so that each rank's first touch places its own.
struct Layout {
  std::size_t ranks = 1;
  std::size_t slot = 0;  // bytes in the body of a slot

  std::size_t stride() const noexcept { return pages(sizeof(Line) + slot); }
  std::size_t states() const noexcept { return sizeof(Head); }
  std::size_t slots() const noexcept { return pages(states() + ranks * sizeof(State)); }
  std::size_t bytes() const noexcept { return slots() + ranks * kSlots * stride(); }
  std::size_t line(std::size_t rank, std::uint64_t round) const noexcept {
    return slots() + (rank * kSlots + static_cast<std::size_t>(round % kSlots)) * stride();
  }

 private:
  static std::size_t pages(std::size_t n) noexcept { return (n + 4095) / 4096 * 4096; }
};

}  // namespace stretto::node
