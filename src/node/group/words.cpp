#include "node/group/words.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::node {
namespace {

Status write(Group& group, const Worded& own, std::span<const int> readers) noexcept {
  if (const Status s = group.enter(words::record); s != Status::ok) return s;
  const std::uint64_t round = group.rounds(1);
  const Group::Room room = words::room_of(own.bytes);
  if (const Status s = group.open(round, readers, room); s != Status::ok) return s;
  std::byte* const line = group.place(round, Group::Room::small, kInline);
  const words::Written head{own.word, own.bytes};
  std::memcpy(line, &head, sizeof head);
  std::byte* const to = own.bytes <= words::fits_line ? line + sizeof head : group.place(round, room, kInline + 1);
  if (own.bytes > 0) std::memcpy(to, own.data, own.bytes);
  group.publish(round);
  words::leave(group, round, room == Group::Room::slot);
  return Status::ok;
}

}  // namespace

Status give_word(Group& group, const Worded& own, int to) noexcept { return write(group, own, {&to, 1}); }

Status answer_words(Group& group, const Worded& own, std::span<const int> others) noexcept {
  return write(group, own, others);
}

Status words::read(Group& group, int rank, std::uint64_t round, Worded* found, bool* in_slot) noexcept {
  const Line* line = nullptr;
  if (const Status s = group.await(rank, round, &line); s != Status::ok) return s;
  const std::byte* const inside = group.place(rank, round, Group::Room::small, kInline);
  Written head{};
  std::memcpy(&head, inside, sizeof head);
  const bool apart = head.bytes > fits_line;
  const Group::Room room = room_of(head.bytes);
  *found = {head.word, apart ? group.place(rank, round, room, kInline + 1) : inside + sizeof head,
            static_cast<std::size_t>(std::min<std::uint64_t>(head.bytes, most_worded))};
  *in_slot = *in_slot || room == Group::Room::slot;
  return Status::ok;
}

}  // namespace stretto::node
