// A broadcast for long vectors: the root scatters p pieces down a binomial tree, then the pieces go around a ring,
// except to ranks that have them.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/tree.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {

Schedule scatter_allgather_broadcast(const Request& q) {
  const int p = q.ranks;
  const Tree tree = tree_of(p, q.rank, q.root, 2);
  const Buffer source = q.rank == q.root ? Buffer::in : Buffer::out;
  Program program(q, Collective::bcast, "scatter_allgather", p, true);
  if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, 0, p);
  if (tree.parent >= 0) {
    program.replace(tree.parent, Buffer::out, tree.first, tree.end - tree.first, tree.rounds - 1 - tree.round);
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    program.send(child->rank, source, child->first, child->end - child->first, tree.rounds - 1 - child->round);
  }

  const int next = wrap(q.rank + 1, p);
  const Tree next_tree = tree_of(p, next, q.root, 2);
  const auto holds = [](const Tree& t, int block) { return t.first <= block && block < t.end; };
  for (int s = 0; s + 1 < p; ++s) {
    const int gives = wrap(q.rank - s, p);
    const int takes = wrap(q.rank - s - 1, p);
    if (!holds(next_tree, gives)) program.send(next, source, gives, 1, tree.rounds + s);
    if (!holds(tree, takes)) program.replace(wrap(q.rank - 1, p), Buffer::out, takes, 1, tree.rounds + s);
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
