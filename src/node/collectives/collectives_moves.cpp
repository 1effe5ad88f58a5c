#include <cstring>

#include "base/guarded.hpp"
#include "node/collectives/collectives.hpp"
#include "node/collectives/transfer.hpp"

namespace stretto::node {
namespace {

void move_own(void* to, const void* from, std::size_t bytes) noexcept {
  if (to != from && bytes > 0) std::memmove(to, from, bytes);
}

// `owner` exposes a block for each other rank.
std::size_t index_at(int owner, int rank) noexcept { return static_cast<std::size_t>(rank < owner ? rank : rank - 1); }

}  // namespace

template <class Describe>
Status Collectives::move(const CallRecord& call, const Describe& describe) noexcept {
  if (call.root < 0 || call.root >= size())
    return fail(Status::invalid_argument, "root {} of {} ranks", call.root, size());
  if (const Status s = group_->enter(call); s != Status::ok) return s;
  ++counters_.calls;
  if (call.bytes == 0 || size() == 1) {
    if (call.bytes > 0) describe(nullptr);
    return finish_call(Status::ok);
  }
  Status s = Status::ok;
  const bool done = attempt([&] {
    moves_.clear();
    moves_.bytes = call.bytes;
    if (call.bytes >= options_.direct) {
      if (s = try_when_due(Use::moves, call.bytes); s != Status::ok) return;
    }
    describe(&moves_);
    s = finish_call(Transfer(*this, moves_).run());
  });
  if (done) return s;
  return group_->give_up_all(fail(Status::out_of_memory, "no memory to describe {}", call.text()));
}

Status Collectives::bcast(void* data, std::size_t bytes, int root) noexcept {
  const Hierarchy& asked = hierarchy(Collective::bcast);
  const bool one_level = (size() <= kFlat && bytes <= kFlatBytes) || asked.levels() == 1;
  if (one_level && small(bytes, 1)) return small_bcast(data, bytes, root);
  return move({Collective::bcast, 0, 0, root, bytes}, [&](Moves* m) {
    if (m == nullptr) return;
    const Hierarchy& h = one_level ? one_level_ : asked;
    if (root != offspring_root_ || h.levels() != offspring_levels_) {
      offspring_ = h.offspring(rank(), root);
      offspring_root_ = root;
      offspring_levels_ = h.levels();
    }
    m->by_kernel = false;
    m->readers = offspring_;
    if (!m->readers.empty()) {
      m->exposed = static_cast<const std::byte*>(data);
      m->offsets.assign(1, 0);
      m->span = bytes;
    }
    if (rank() == root) return;
    m->passes_on = true;
    m->pulls.push_back({h.parent(rank(), root), 0, 0, static_cast<std::byte*>(data)});
  });
}

Status Collectives::allgather(const void* in, void* out, std::size_t bytes) noexcept {
  if (small(bytes, 1)) return small_allgather(in, out, bytes);
  return move({Collective::allgather, 0, 0, 0, bytes}, [&](Moves* m) {
    auto* blocks = static_cast<std::byte*>(out);
    std::byte* own = blocks + static_cast<std::size_t>(rank()) * bytes;
    if (m == nullptr) {
      if (in != nullptr) move_own(own, in, bytes);
      return;
    }
    m->exposed = own;
    if (in != nullptr && in != own) {
      m->exposed = m->own = static_cast<const std::byte*>(in);
      m->own_to = own;
    }
    m->offsets.assign(1, 0);
    m->span = bytes;
    m->readers = others_;
    for (int k = 1; k < size(); ++k) {
      const int r = (rank() + k) % size();
      m->pulls.push_back({r, 0, 0, blocks + static_cast<std::size_t>(r) * bytes});
    }
  });
}

Status Collectives::gather(const void* in, void* out, std::size_t bytes, int root) noexcept {
  if (small(bytes, 1)) return small_gather(in, out, bytes, root);
  return move({Collective::gather, 0, 0, root, bytes}, [&](Moves* m) {
    auto* blocks = static_cast<std::byte*>(out);
    if (rank() == root) {
      if (in != nullptr) move_own(blocks + static_cast<std::size_t>(rank()) * bytes, in, bytes);
      if (m == nullptr) return;
      for (const int r : others_) m->pulls.push_back({r, 0, 0, blocks + static_cast<std::size_t>(r) * bytes});
      return;
    }
    if (m == nullptr) return;
    m->exposed = static_cast<const std::byte*>(in);
    m->offsets.assign(1, 0);
    m->span = bytes;
    m->readers.assign(1, root);
  });
}

Status Collectives::scatter(const void* in, void* out, std::size_t bytes, int root) noexcept {
  if (small(bytes, others_.size())) return small_scatter(in, out, bytes, root);
  return move({Collective::scatter, 0, 0, root, bytes}, [&](Moves* m) {
    const auto* blocks = static_cast<const std::byte*>(in);
    if (rank() == root && out != nullptr) move_own(out, blocks + static_cast<std::size_t>(rank()) * bytes, bytes);
    if (m == nullptr) return;
    m->indices = static_cast<std::size_t>(size() - 1);
    if (rank() == root) {
      m->exposed = blocks;
      m->span = bytes * static_cast<std::size_t>(size());
      m->readers = others_;
      for (const int r : others_) m->offsets.push_back(static_cast<std::size_t>(r) * bytes);
    } else {
      m->pulls.push_back(
          {root, index_at(root, rank()), static_cast<std::size_t>(rank()) * bytes, static_cast<std::byte*>(out)});
    }
  });
}

Status Collectives::alltoall(const void* in, void* out, std::size_t bytes) noexcept {
  if (small(bytes, others_.size())) return small_alltoall(in, out, bytes);
  return move({Collective::alltoall, 0, 0, 0, bytes}, [&](Moves* m) {
    if (m == nullptr) {
      if (in != nullptr) move_own(out, in, bytes);
      return;
    }
    auto* to = static_cast<std::byte*>(out);
    const std::size_t all = bytes * static_cast<std::size_t>(size());
    const auto* from = static_cast<const std::byte*>(in);
    if (in == nullptr) {
      // Each block is both sent and overwritten, so a copy is sent.
      std::byte* kept = scratch(all);
      std::memcpy(kept, out, all);
      from = kept;
    } else {
      m->own = from + static_cast<std::size_t>(rank()) * bytes;
      m->own_to = to + static_cast<std::size_t>(rank()) * bytes;
    }
    m->exposed = from;
    m->span = all;
    m->indices = static_cast<std::size_t>(size() - 1);
    m->readers = others_;
    for (const int r : others_) m->offsets.push_back(static_cast<std::size_t>(r) * bytes);
    for (int k = 1; k < size(); ++k) {
      const int r = (rank() + k) % size();
      m->pulls.push_back(
          {r, index_at(r, rank()), static_cast<std::size_t>(rank()) * bytes, to + static_cast<std::size_t>(r) * bytes});
    }
  });
}

}  // namespace stretto::node
