#include "backend/buffers.hpp"

#include "call/inputs.hpp"

namespace stretto::backend {

using namespace call;

engine::Arguments engine_arguments(const Call& c, int rank) noexcept {
  engine::Arguments a;
  a.in = in_place(c.send) ? nullptr : c.send;
  a.out = in_place(c.recv) ? nullptr : c.recv;
  a.count = c.count;
  if (c.collective == Collective::bcast) {
    a.out = c.recv ? c.recv : const_cast<void*>(c.send);
  } else if (!c.counts.empty()) {
    a.counts = c.counts;
    a.displacements = c.displs;
    a.send_counts = c.send_counts;
    a.send_displacements = c.send_displs;
  }
  // Buffers that matter at the root only may be anything elsewhere.
  if (rooted(c.collective) && rank != c.root) {
    const Collective s = schedule::family(c.collective);
    if (s == Collective::scatter || s == Collective::bcast)
      a.in = nullptr;
    else
      a.out = nullptr;
  }
  return a;
}

}  // namespace stretto::backend
