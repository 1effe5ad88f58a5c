// Two trees (Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).
// The inner ranks of one binary tree are the leaves of the other. Even pieces pass the first tree and odd pieces the
// second: every rank sends and receives the vector once per direction, after log p pieces instead of a chain's p.
//
// The first tree is in order: rank x - 1 for x in 1 ... m stands as high as x has trailing zero bits. The second is its
// mirror image; for odd m it mirrors the first m - 1 ranks, below the last one. In a reduction or broadcast the root
// stands above trees of the other ranks, numbered from the root on; rank order breaks where the numbers wrap.
#include <bit>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

struct Node {
  int parent = -1;
  int child[2] = {-1, -1};  // lower and higher numbers; swapped in a mirrored tree
  int side = 0;
  int depth = 0;
};

int top_of(int m) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(m))) - 1; }

// In the tree of m nodes lower children replace missing nodes.
Node in_order(int v, int m) {
  const int x = v + 1;
  const int low = x & -x;
  Node node;
  if (low > 1) node.child[0] = x - low / 2 - 1;
  for (int half = low / 2; half > 0 && node.child[1] < 0; half /= 2) {
    if (x + half <= m) node.child[1] = x + half - 1;
  }
  for (int at = x; at != top_of(m) + 1; ++node.depth) {
    do {
      const int bit = at & -at;
      at = (at - bit) | (bit << 1);
    } while (at > m);
    if (node.parent < 0) {
      node.parent = at - 1;
      node.side = x > at ? 1 : 0;
    }
  }
  return node;
}

Node mirrored(int v, int m) {
  Node node = in_order(m - 1 - v, m);
  for (int* of : {&node.parent, &node.child[0], &node.child[1]}) {
    if (*of >= 0) *of = m - 1 - *of;
  }
  return node;
}

Node under(Node node, int top) {
  ++node.depth;
  if (node.parent < 0) node.parent = top;
  return node;
}

Node on_top(int below) {
  Node node;
  node.child[0] = below;
  return node;
}

Node second(int v, int m) {
  if (m % 2 == 0) return mirrored(v, m);
  if (m == 1) return {};
  return v == m - 1 ? on_top(m - 2 - top_of(m - 1)) : under(mirrored(v, m - 1), m - 1);
}

// Over all ranks, or if `rooted` over the others with the root on top.
class Trees {
 public:
  Trees(const Request& q, bool rooted)
      : p_(q.ranks), first_(rooted ? wrap(q.root + 1 - q.ranks, q.ranks) : 0), m_(q.ranks - (rooted ? 1 : 0)) {
    const int v = wrap(q.rank - first_, p_);
    for (int tree = 0; tree < 2; ++tree) {
      const auto place = [&](int w) { return tree == 0 ? in_order(w, m_) : second(w, m_); };
      Node& node = nodes_[tree];
      if (!rooted) {
        node = place(v);
      } else if (v < m_) {
        node = under(place(v), m_);
      } else if (m_ > 0) {
        node = on_top(tree == 0 ? top_of(m_) : (m_ % 2 == 0 ? m_ - 1 - top_of(m_) : m_ - 1));
      }
      for (int* of : {&node.parent, &node.child[0], &node.child[1]}) {
        if (*of >= 0) *of = wrap(*of + first_, p_);
      }
    }
    height_ = m_ == 0 ? 0 : log2_floor(m_) + (m_ > 1 ? m_ % 2 : 0) + (rooted ? 1 : 0);
  }

  const Node& of_piece(int piece) const { return nodes_[piece % 2]; }
  int height() const { return height_; }

  // A piece's rounds over the edge above a node, upwards and downwards from 0. A node hears from its children in two
  // rounds, and from its parent or its other tree between them.
  int up(int piece, int depth, int side) const { return piece + 2 * (height_ - depth) + side; }
  int down(int piece, int depth, int side) const { return piece + 2 * (depth - 1) + side; }

 private:
  int p_, first_, m_;
  int height_ = 0;
  Node nodes_[2];
};

int pieces(const Request& q) { return q.blocks > 0 ? q.blocks : 8; }

// Combines the children's pieces into `sum`; the parent gets the piece from `source`.
void reduce(Program& program, const Trees& trees, int rank, int piece, Buffer sum, Buffer source) {
  const Node& node = trees.of_piece(piece);
  for (int side = 0; side < 2; ++side) {
    const int child = node.child[side];
    if (child >= 0) program.combine(child, sum, piece, 1, child < rank, trees.up(piece, node.depth + 1, side));
  }
  if (node.parent >= 0) program.send(node.parent, source, piece, 1, trees.up(piece, node.depth, node.side));
}

void broadcast(Program& program, const Trees& trees, int piece, Buffer source, int first_round) {
  const Node& node = trees.of_piece(piece);
  const auto round = [&](int depth, int side) { return first_round + trees.down(piece, depth, side); };
  if (node.parent >= 0) program.replace(node.parent, Buffer::out, piece, 1, round(node.depth, node.side));
  for (int side = 0; side < 2; ++side) {
    if (node.child[side] >= 0) program.send(node.child[side], source, piece, 1, round(node.depth + 1, side));
  }
}

}  // namespace

Schedule two_tree_allreduce(const Request& q) {
  const int blocks = pieces(q);
  const Trees trees(q, false);
  Program program(q, Collective::allreduce, "two_tree", blocks, true);
  for (int b = 0; b < blocks; ++b) {
    program.copy(Buffer::out, Buffer::in, b, 1);
    reduce(program, trees, q.rank, b, Buffer::out, Buffer::out);
    broadcast(program, trees, b, Buffer::out, 2 * trees.height());
  }
  program.interleave(0);
  return std::move(program).finish();
}

Schedule two_tree_reduce(const Request& q) {
  const int blocks = pieces(q);
  const Trees trees(q, true);
  const Buffer sum = q.rank == q.root ? Buffer::out : Buffer::tmp;
  Program program(q, Collective::reduce, "two_tree", blocks, false);
  for (int b = 0; b < blocks; ++b) {
    const bool leaf = q.rank != q.root && trees.of_piece(b).child[0] < 0 && trees.of_piece(b).child[1] < 0;
    if (!leaf) program.copy(sum, Buffer::in, b, 1);
    reduce(program, trees, q.rank, b, sum, leaf ? Buffer::in : sum);
  }
  program.interleave(0);
  return std::move(program).finish();
}

Schedule two_tree_broadcast(const Request& q) {
  const int blocks = pieces(q);
  const Trees trees(q, true);
  Program program(q, Collective::bcast, "two_tree", blocks, true);
  for (int b = 0; b < blocks; ++b) {
    if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, b, 1);
    broadcast(program, trees, b, q.rank == q.root ? Buffer::in : Buffer::out, 0);
  }
  program.interleave(0);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
