#include "schedule/names.hpp"

namespace stretto::schedule {

const char* name(Collective c) noexcept {
  switch (c) {
    case Collective::allreduce: return "allreduce";
    case Collective::reduce: return "reduce";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::allgather: return "allgather";
    case Collective::broadcast: return "broadcast";
    case Collective::gather: return "gather";
    case Collective::scatter: return "scatter";
    case Collective::alltoall: return "alltoall";
    case Collective::barrier: return "barrier";
  }
  return "unknown collective";
}

const char* name(Buffer b) noexcept {
  switch (b) {
    case Buffer::in: return "in";
    case Buffer::out: return "out";
    case Buffer::tmp: return "tmp";
  }
  return "unknown buffer";
}

const char* name(Kind k) noexcept {
  switch (k) {
    case Kind::send: return "send";
    case Kind::recv_replace: return "recv_replace";
    case Kind::recv_combine: return "recv_combine";
    case Kind::copy: return "copy";
    case Kind::combine: return "combine";
  }
  return "unknown kind";
}

const char* name(Link l) noexcept {
  switch (l) {
    case Link::local: return "local";
    case Link::node: return "node";
    case Link::network: return "network";
  }
  return "unknown link";
}

std::optional<Collective> find_collective(std::string_view text) noexcept {
  for (int i = 0; i <= static_cast<int>(Collective::barrier); ++i) {
    const auto c = static_cast<Collective>(i);
    if (text == name(c)) return c;
  }
  return std::nullopt;
}

bool reduces(Collective c) noexcept {
  return c == Collective::allreduce || c == Collective::reduce || c == Collective::reduce_scatter;
}

bool rooted(Collective c) noexcept {
  return c == Collective::reduce || c == Collective::broadcast || c == Collective::gather || c == Collective::scatter;
}

bool holds(Collective c, int ranks, int root, int rank, int block) noexcept {
  switch (c) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter: return true;
    case Collective::allgather:
    case Collective::gather: return block == rank;
    case Collective::broadcast:
    case Collective::scatter: return rank == root;
    case Collective::alltoall: return block / ranks == rank;
    case Collective::barrier: return false;
  }
  return false;
}

bool expects(Collective c, int ranks, int root, int rank, int block) noexcept {
  switch (c) {
    case Collective::allreduce:
    case Collective::allgather:
    case Collective::broadcast: return true;
    case Collective::reduce:
    case Collective::gather: return rank == root;
    case Collective::reduce_scatter:
    case Collective::scatter: return block == rank;
    case Collective::alltoall: return block % ranks == rank;
    case Collective::barrier: return false;
  }
  return false;
}

}  // namespace stretto::schedule
