// A word, and bytes that are read only where words are equal: so ranks may call differently, and give different lengths.
// Two rounds of a group's lines: all ranks give theirs to one, then this one gives its own to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "node/group/group.hpp"

namespace stretto::node {

struct Worded {
  std::uint64_t word = 0;
  const std::byte* data = nullptr;  // up to most_worded bytes
  std::size_t bytes = 0;
};

inline constexpr std::size_t most_worded = 8 * 1024;  // fits every slot

// Collective; all ranks name the same `to`, which calls take_words(). incompatible: another rank started a nonblocking
// call instead, or Group::differed().
Status give_word(Group& group, const Worded& own, int to) noexcept;

// `take` is called for each other rank in ascending order, with what lies in its memory: lengths are not to be trusted.
template <class Take>
Status take_words(Group& group, const Take& take) noexcept;

// The second round: of the rank that gives, and of the others.
Status answer_words(Group& group, const Worded& own, std::span<const int> others) noexcept;
template <class Take>
Status take_answer(Group& group, int from, const Take& take) noexcept;

namespace words {

inline constexpr CallRecord record{schedule::Collective::agreement, 0, 0, 0, sizeof(std::uint64_t)};

struct Written {
  std::uint64_t word, bytes;
};
inline constexpr std::size_t fits_line = kInline - sizeof(Written);

inline Group::Room room_of(std::uint64_t bytes) noexcept {
  return bytes <= kSmall ? Group::Room::small : Group::Room::slot;
}

// Of what a rank has published in its line.
Status read(Group& group, int rank, std::uint64_t round, Worded* found, bool* in_slot) noexcept;

// After a round: a slot is free again only once its readers say so.
inline void leave(Group& group, std::uint64_t round, bool slot) noexcept {
  group.done_with(round + 1, slot ? Group::Room::slot : Group::Room::small);
  group.leave();
}

}  // namespace words

template <class Take>
Status take_words(Group& group, const Take& take) noexcept {
  if (const Status s = group.enter(words::record); s != Status::ok) return s;
  const std::uint64_t round = group.rounds(1);
  bool slot = false;
  for (int r = 0; r < group.size(); ++r) {
    if (r == group.rank()) continue;
    Worded found;
    if (const Status s = words::read(group, r, round, &found, &slot); s != Status::ok) return s;
    take(found);
  }
  words::leave(group, round, slot);
  return Status::ok;
}

template <class Take>
Status take_answer(Group& group, int from, const Take& take) noexcept {
  if (const Status s = group.enter(words::record); s != Status::ok) return s;
  const std::uint64_t round = group.rounds(1);
  bool slot = false;
  Worded found;
  if (const Status s = words::read(group, from, round, &found, &slot); s != Status::ok) return s;
  take(found);
  words::leave(group, round, slot);
  return Status::ok;
}

}  // namespace stretto::node
