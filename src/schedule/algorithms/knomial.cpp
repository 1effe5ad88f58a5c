// K-nomial trees (tree.hpp), with up to k - 1 children per level. A larger k wins where latency dominates. Reductions
// combine nearest subtrees first, so in rank order. Gather and scatter move a subtree's blocks as one message. An
// allreduce or barrier goes up to rank 0 and down.
#include "schedule/algorithms/knomial.hpp"

#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/tree.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

Request rooted_at_0(const Request& q) {
  Request r = q;
  r.root = 0;
  return r;
}

Tree tree_for(const Request& q, int radix) { return tree_of(q.ranks, q.rank, q.root, radix); }

// Rounds of the levels that a split gives to the application.
int of_leaves(const Request& q, const Tree& tree, int radix) { return std::min(q.split, tree.rounds) * (radix - 1); }

void reduce(Program& program, const Tree& tree, int rank, Buffer sum) {
  const bool leaf = tree.children.empty() && tree.parent >= 0 && sum == Buffer::tmp;
  if (!leaf) program.copy(sum, Buffer::in, 0, 1);
  for (const Tree::Child& child : tree.children) {
    program.combine(child.rank, sum, 0, 1, child.rank < rank, child.round);
  }
  if (tree.parent >= 0) program.send(tree.parent, leaf ? Buffer::in : sum, 0, 1, tree.round);
}

void broadcast(Program& program, const Tree& tree, Buffer source, int first_round) {
  const int last = first_round + tree.rounds - 1;
  if (tree.parent >= 0) program.replace(tree.parent, Buffer::out, 0, 1, last - tree.round);
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    program.send(child->rank, tree.parent >= 0 ? Buffer::out : source, 0, 1, last - child->round);
  }
}

}  // namespace

Schedule tree_allreduce(const Request& request, int radix, std::string_view name) {
  const Request q = rooted_at_0(request);
  const Tree tree = tree_for(q, radix);
  Program program(request, Collective::allreduce, name, 1, true);
  program.split(of_leaves(q, tree, radix), 2 * tree.rounds, tree.rounds, tree.rounds);
  reduce(program, tree, q.rank, Buffer::out);
  broadcast(program, tree, Buffer::out, tree.rounds);
  return std::move(program).finish();
}

Schedule tree_reduce(const Request& q, int radix, std::string_view name) {
  const Tree tree = tree_for(q, radix);
  Program program(q, Collective::reduce, name, 1, true);
  program.split(of_leaves(q, tree, radix), tree.rounds, tree.rounds, 0);
  reduce(program, tree, q.rank, q.rank == q.root ? Buffer::out : Buffer::tmp);
  return std::move(program).finish();
}

Schedule tree_broadcast(const Request& q, int radix, std::string_view name) {
  const Tree tree = tree_for(q, radix);
  Program program(q, Collective::bcast, name, 1, true);
  program.split(of_leaves(q, tree, radix), tree.rounds, 0, tree.rounds);
  if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, 0, 1);
  broadcast(program, tree, Buffer::in, 0);
  return std::move(program).finish();
}

// Forwarded blocks wait in tmp, next to the rank's own.
Schedule tree_gather(const Request& q, int radix, std::string_view name) {
  const Tree tree = tree_for(q, radix);
  const bool leaf = tree.children.empty() && tree.parent >= 0;
  const Buffer to = tree.parent < 0 ? Buffer::out : Buffer::tmp;
  Program program(q, Collective::gather, name, q.ranks, true);
  program.split(of_leaves(q, tree, radix), tree.rounds, tree.rounds, 0);
  if (!leaf) program.copy(to, Buffer::in, q.rank, 1);
  for (const Tree::Child& child : tree.children) {
    program.replace(child.rank, to, child.first, child.end - child.first, child.round);
  }
  if (tree.parent >= 0) {
    program.send(tree.parent, leaf ? Buffer::in : Buffer::tmp, tree.first, tree.end - tree.first, tree.round);
  }
  return std::move(program).finish();
}

Schedule tree_scatter(const Request& q, int radix, std::string_view name) {
  const Tree tree = tree_for(q, radix);
  const int last = tree.rounds - 1;
  const bool leaf = tree.children.empty();
  const bool root = tree.parent < 0;
  Program program(q, Collective::scatter, name, q.ranks, true);
  program.split(of_leaves(q, tree, radix), tree.rounds, 0, tree.rounds);
  if (root) program.copy(Buffer::out, Buffer::in, q.rank, 1);
  if (!root) {
    const Buffer to = leaf ? Buffer::out : Buffer::tmp;
    program.replace(tree.parent, to, tree.first, tree.end - tree.first, last - tree.round);
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    program.send(child->rank, root ? Buffer::in : Buffer::tmp, child->first, child->end - child->first,
                 last - child->round);
  }
  if (!root && !leaf) program.copy(Buffer::out, Buffer::tmp, q.rank, 1, last - tree.round);
  return std::move(program).finish();
}

Schedule tree_barrier(const Request& request, int radix, std::string_view name) {
  const Request q = rooted_at_0(request);
  const Tree tree = tree_for(q, radix);
  const int last = 2 * tree.rounds - 1;
  Program program(request, Collective::barrier, name, 0, true);
  for (const Tree::Child& child : tree.children) program.await(child.rank, child.round);
  if (tree.parent >= 0) {
    program.signal(tree.parent, tree.round);
    program.await(tree.parent, last - tree.round);
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    program.signal(child->rank, last - child->round);
  }
  return std::move(program).finish();
}

namespace {
int radix_of(const Request& q) { return q.radix < 2 ? 4 : q.radix; }
}  // namespace

Schedule knomial_allreduce(const Request& q) { return tree_allreduce(q, radix_of(q), "knomial"); }
Schedule knomial_reduce(const Request& q) { return tree_reduce(q, radix_of(q), "knomial"); }
Schedule knomial_broadcast(const Request& q) { return tree_broadcast(q, radix_of(q), "knomial"); }
Schedule knomial_gather(const Request& q) { return tree_gather(q, radix_of(q), "knomial"); }
Schedule knomial_scatter(const Request& q) { return tree_scatter(q, radix_of(q), "knomial"); }
Schedule knomial_barrier(const Request& q) { return tree_barrier(q, radix_of(q), "knomial"); }

}  // namespace stretto::schedule
