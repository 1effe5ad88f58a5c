// Fill in a Call from a C function's arguments, in one way on every rank.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::call {

struct Plain {
  Shape shape;
  const void* send = nullptr;
  void* recv = nullptr;

  Status operator()(Call& c, int, int) const noexcept {
    c.collective = shape.collective;
    c.send = send;
    c.recv = recv;
    c.count = shape.count;
    c.type = shape.type;
    c.op = shape.op;
    c.root = shape.root;
    return Status::ok;
  }
};

inline Plain plain(Collective what, const void* send, void* recv, std::size_t count, stretto_type type, stretto_op op,
                   int root = 0) noexcept {
  return {{what, false, type, op, root, count}, send, recv};
}

inline Plain moving(Collective what, const void* send, void* recv, std::size_t count, stretto_type type,
                    int root = 0) noexcept {
  return plain(what, send, recv, count, type, STRETTO_SUM, root);
}

// The root sends the only buffer, other ranks receive it.
inline Plain broadcasting(int rank, void* buffer, std::size_t count, stretto_type type, int root) noexcept {
  const bool gives = rank == root;
  return moving(Collective::bcast, gives ? buffer : nullptr, gives ? nullptr : buffer, count, type, root);
}

inline Plain barrier() noexcept { return moving(Collective::barrier, nullptr, nullptr, 0, STRETTO_U8); }

inline Status copy_counts(Call& c, const std::size_t* counts, const std::size_t* displs, int ranks) {
  if (!counts) return fail(Status::invalid_argument, "counts is NULL");
  c.counts_given = true;
  c.counts.assign(counts, counts + ranks);
  if (displs) c.displs.assign(displs, displs + ranks);
  return Status::ok;
}

inline auto multi(const void* const* contributions, int k, void* recv, std::size_t count, stretto_type type,
                  stretto_op op) {
  return [=](Call& c, int, int) {
    c.collective = Collective::allreduce_multi;
    c.recv = recv;
    c.count = count;
    c.type = type;
    c.op = op;
    if (k < 0) return fail(Status::invalid_argument, "k is {}", k);
    if (k > 0 && !contributions) return fail(Status::invalid_argument, "contributions is NULL with k = {}", k);
    if (k > 0) c.inputs.assign(contributions, contributions + k);
    return Status::ok;
  };
}

// Counts on every rank, its own block's included.
inline auto with_counts(Collective what, const void* send, void* recv, const std::size_t* counts,
                        const std::size_t* displs, stretto_type type, stretto_op op) {
  return [=](Call& c, int rank, int ranks) {
    c.collective = what;
    c.send = send;
    c.recv = recv;
    c.type = type;
    c.op = op;
    const Status s = copy_counts(c, counts, displs, ranks);
    if (s == Status::ok) c.count = c.counts[static_cast<std::size_t>(rank)];
    return s;
  };
}

// Each rank gives its own block's, the root all.
inline auto with_root_counts(Collective what, const void* send, void* recv, std::size_t own, const std::size_t* counts,
                             const std::size_t* displs, stretto_type type, int root) {
  return [=](Call& c, int rank, int ranks) {
    c.collective = what;
    c.send = send;
    c.recv = recv;
    c.count = own;
    c.type = type;
    c.root = root;
    return rank == root ? copy_counts(c, counts, displs, ranks) : Status::ok;
  };
}

// Counts that a rank sends and receives, by peer; equal in place.
inline auto with_pair_counts(const void* send, const std::size_t* send_counts, const std::size_t* send_displs,
                             void* recv, const std::size_t* recv_counts, const std::size_t* recv_displs,
                             stretto_type type) {
  return [=](Call& c, int, int ranks) {
    c.collective = Collective::alltoallv;
    c.send = send;
    c.recv = recv;
    c.type = type;
    if (send != STRETTO_IN_PLACE) {
      if (!send_counts) return fail(Status::invalid_argument, "sendcounts is NULL");
      c.send_counts.assign(send_counts, send_counts + ranks);
      if (send_displs) c.send_displs.assign(send_displs, send_displs + ranks);
    }
    if (!recv_counts) return fail(Status::invalid_argument, "recvcounts is NULL");
    const Status s = copy_counts(c, recv_counts, recv_displs, ranks);
    if (send == STRETTO_IN_PLACE) {
      c.send_counts = c.counts;
      c.send_displs = c.displs;
    }
    return s;
  };
}

}  // namespace stretto::call
