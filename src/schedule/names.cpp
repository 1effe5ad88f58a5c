#include "schedule/names.hpp"

namespace stretto::schedule {

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

const char* name(Lane l) noexcept {
  switch (l) {
    case Lane::before: return "before";
    case Lane::beside: return "beside";
    case Lane::after: return "after";
  }
  return "unknown lane";
}

std::optional<Collective> find_collective(std::string_view text) noexcept {
  for (int i = 0; i < kCollectives; ++i) {
    const auto c = static_cast<Collective>(i);
    if (is_family(c) && text == name(c)) return c;
  }
  return text == "broadcast" ? std::optional(Collective::bcast) : std::nullopt;
}

bool holds(Collective c, int ranks, int root, int rank, int block) noexcept {
  switch (c) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::scan:
    case Collective::exscan: return true;
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv: return block == rank;
    case Collective::bcast:
    case Collective::scatter:
    case Collective::scatterv: return rank == root;
    case Collective::alltoall:
    case Collective::alltoallv: return block / ranks == rank;
    case Collective::barrier:
    case Collective::agreement: return false;
  }
  return false;
}

bool expects(Collective c, int ranks, int root, int rank, int block) noexcept {
  switch (c) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::bcast:
    case Collective::scan: return true;
    case Collective::exscan: return rank > 0;
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv: return rank == root;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::scatter:
    case Collective::scatterv: return block == rank;
    case Collective::alltoall:
    case Collective::alltoallv: return block % ranks == rank;
    case Collective::barrier:
    case Collective::agreement: return false;
  }
  return false;
}

}  // namespace stretto::schedule
