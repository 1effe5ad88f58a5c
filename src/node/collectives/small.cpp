// A rank's data fit in its line, or in the line's small room: one round. A sender may be kLines rounds ahead of its
// receivers. Cost: n bytes in per block sent, n out per block received.
#include <cstring>

#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

using Room = Group::Room;

const std::byte* block(const void* blocks, int rank, std::size_t bytes) noexcept {
  return static_cast<const std::byte*>(blocks) + static_cast<std::size_t>(rank) * bytes;
}
std::byte* block(void* blocks, int rank, std::size_t bytes) noexcept {
  return static_cast<std::byte*>(blocks) + static_cast<std::size_t>(rank) * bytes;
}

// `owner` sends a block to each other rank.
int index_at(int owner, int rank) noexcept { return rank < owner ? rank : rank - 1; }

}  // namespace

// `mutual`: all ranks read all others.
template <class Step>
Status Collectives::small_move(const CallRecord& call, std::size_t given, bool mutual, const Step& step) noexcept {
  if (call.root < 0 || call.root >= size())
    return fail(Status::invalid_argument, "root {} of {} ranks", call.root, size());
  Group& g = *group_;
  if (const Status s = g.enter_here(call); s != Status::ok) return s;
  ++counters_.calls;
  ++(given <= kInline ? counters_.inlined : counters_.eager);
  const std::uint64_t round = g.rounds(1);
  const Room room = Group::room_for(given, mutual);
  if (const Status s = step(g, round, room); s != Status::ok) return s;
  g.done_with(round + 1, room);
  g.leave();
  return Status::ok;
}

Status Collectives::small_bcast(void* data, std::size_t bytes, int root) noexcept {
  return small_move({Collective::bcast, 0, 0, root, bytes}, bytes, false,
                    [&](Group& g, std::uint64_t round, Room room) {
                      if (rank() == root) {
                        if (const Status s = g.open(round, others_, room); s != Status::ok) return s;
                        std::memcpy(g.place(round, room, bytes), data, bytes);
                        g.publish(round);
                        return Status::ok;
                      }
                      const Line* line = nullptr;
                      if (const Status s = g.await(root, round, &line); s != Status::ok) return s;
                      std::memcpy(data, g.place(root, round, room, bytes), bytes);
                      return Status::ok;
                    });
}

Status Collectives::small_allgather(const void* in, void* out, std::size_t bytes) noexcept {
  return small_move({Collective::allgather, 0, 0, 0, bytes}, bytes, true,
                    [&](Group& g, std::uint64_t round, Room room) {
                      std::byte* const own = block(out, rank(), bytes);
                      const void* mine = in == nullptr ? own : in;
                      if (const Status s = g.open(round, others_, room); s != Status::ok) return s;
                      std::memcpy(g.place(round, room, bytes), mine, bytes);
                      g.publish(round);
                      if (mine != own) std::memmove(own, mine, bytes);
                      for (const int r : others_) {
                        const Line* line = nullptr;
                        if (const Status s = g.await(r, round, &line); s != Status::ok) return s;
                        std::memcpy(block(out, r, bytes), g.place(r, round, room, bytes), bytes);
                      }
                      return Status::ok;
                    });
}

Status Collectives::small_gather(const void* in, void* out, std::size_t bytes, int root) noexcept {
  return small_move({Collective::gather, 0, 0, root, bytes}, bytes, false,
                    [&](Group& g, std::uint64_t round, Room room) {
                      if (rank() != root) {
                        if (const Status s = g.open(round, {&root, 1}, room); s != Status::ok) return s;
                        std::memcpy(g.place(round, room, bytes), in, bytes);
                        g.publish(round);
                        return Status::ok;
                      }
                      std::byte* const own = block(out, root, bytes);
                      if (in != nullptr && in != own) std::memmove(own, in, bytes);
                      for (const int r : others_) {
                        const Line* line = nullptr;
                        if (const Status s = g.await(r, round, &line); s != Status::ok) return s;
                        std::memcpy(block(out, r, bytes), g.place(r, round, room, bytes), bytes);
                      }
                      return Status::ok;
                    });
}

Status Collectives::small_scatter(const void* in, void* out, std::size_t bytes, int root) noexcept {
  const std::size_t given = bytes * others_.size();
  return small_move(
      {Collective::scatter, 0, 0, root, bytes}, given, false, [&](Group& g, std::uint64_t round, Room room) {
        if (rank() != root) {
          const Line* line = nullptr;
          if (const Status s = g.await(root, round, &line); s != Status::ok) return s;
          std::memcpy(out, block(g.place(root, round, room, given), index_at(root, rank()), bytes), bytes);
          return Status::ok;
        }
        if (const Status s = g.open(round, others_, room); s != Status::ok) return s;
        std::byte* to = g.place(round, room, given);
        for (const int r : others_) {
          std::memcpy(to, block(in, r, bytes), bytes);
          to += bytes;
        }
        g.publish(round);
        const std::byte* own = block(in, root, bytes);
        if (out != nullptr && out != own) std::memmove(out, own, bytes);
        return Status::ok;
      });
}

// A rank publishes its blocks before it reads any: in place needs no copy.
Status Collectives::small_alltoall(const void* in, void* out, std::size_t bytes) noexcept {
  const std::size_t given = bytes * others_.size();
  return small_move({Collective::alltoall, 0, 0, 0, bytes}, given, true, [&](Group& g, std::uint64_t round, Room room) {
    const void* from = in == nullptr ? out : in;
    if (const Status s = g.open(round, others_, room); s != Status::ok) return s;
    std::byte* to = g.place(round, room, given);
    for (const int r : others_) {
      std::memcpy(to, block(from, r, bytes), bytes);
      to += bytes;
    }
    g.publish(round);
    if (from != out) std::memmove(block(out, rank(), bytes), block(from, rank(), bytes), bytes);
    for (const int r : others_) {
      const Line* line = nullptr;
      if (const Status s = g.await(r, round, &line); s != Status::ok) return s;
      std::memcpy(block(out, r, bytes), block(g.place(r, round, room, given), index_at(r, rank()), bytes), bytes);
    }
    return Status::ok;
  });
}

}  // namespace stretto::node
