#pragma once

#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

class Program {
 public:
  Program(const Request& request, Collective collective, std::string_view algorithm, int blocks, bool keeps_order)
      : groups_(request.groups) {
    s_.collective = collective;
    s_.algorithm = algorithm;
    s_.ranks = request.ranks;
    s_.rank = request.rank;
    s_.root = request.root;
    s_.blocks = blocks;
    s_.keeps_order = keeps_order;
  }

  void let_ranks_differ() { s_.ranks_differ = true; }

  // Gives the `of_leaves` rounds next to the leaves to the application (Lane). The first `up` of all `rounds` go up a
  // tree, the last `down` go down. Precondition: no step yet.
  void split(int of_leaves, int rounds, int up, int down) {
    if (of_leaves <= 0) return;
    begin_ = std::min(of_leaves, up);
    if (down > 0) end_ = rounds - std::min(of_leaves, down);
  }

  void send(int peer, Buffer from, int first, int count, int level) {
    add({.kind = Kind::send, .level = u(level), .peer = peer, .src = {from, first, count}});
  }
  void replace(int peer, Buffer to, int first, int count, int level) {
    add({.kind = Kind::recv_replace, .level = u(level), .peer = peer, .dst = {to, first, count}});
  }

  // `incoming_first`: the incoming contributions have lower ranks.
  void combine(int peer, Buffer to, int first, int count, bool incoming_first, int level) {
    add({.kind = Kind::recv_combine,
         .incoming_first = incoming_first,
         .level = u(level),
         .peer = peer,
         .dst = {to, first, count}});
  }

  void copy(Buffer to, Buffer from, int first, int count, int level = 0) {
    add({.kind = Kind::copy,
         .link = Link::local,
         .level = u(level),
         .dst = {to, first, count},
         .src = {from, first, count}});
  }
  void combine_local(Buffer to, Buffer from, int first, int count, bool from_first, int level) {
    add({.kind = Kind::combine,
         .incoming_first = from_first,
         .link = Link::local,
         .level = u(level),
         .dst = {to, first, count},
         .src = {from, first, count}});
  }

  void signal(int peer, int level) { send(peer, Buffer::tmp, 0, 0, level); }
  void await(int peer, int level) { replace(peer, Buffer::tmp, 0, 0, level); }

  // Sorts the steps from `first` on by level: lists ordered by level, which share no blocks, then advance together.
  std::size_t size() const { return s_.steps.size(); }
  void interleave(std::size_t first) {
    std::stable_sort(s_.steps.begin() + static_cast<std::ptrdiff_t>(first), s_.steps.end(),
                     [](const Step& a, const Step& b) { return a.level < b.level; });
  }

  Schedule finish() && { return std::move(s_); }

 private:
  static std::uint32_t u(int level) { return static_cast<std::uint32_t>(level); }
  void add(Step step) {
    if (step.peer >= 0) step.link = near(step.peer) ? Link::node : Link::network;
    const auto round = static_cast<int>(step.level);
    step.lane = round < begin_ ? Lane::before : round < end_ ? Lane::beside : Lane::after;
    s_.steps.push_back(step);
  }
  bool near(int peer) const {
    if (groups_ == nullptr) return false;
    const auto& group = groups_->group_of;
    return group[static_cast<std::size_t>(peer)] == group[static_cast<std::size_t>(s_.rank)];
  }

  Schedule s_;
  const Groups* groups_;
  int begin_ = 0, end_ = INT_MAX;
};

// For x in [-p, 2p).
inline int wrap(int x, int p) { return x < 0 ? x + p : (x >= p ? x - p : x); }

// p >= 1
inline int log2_floor(int p) { return std::bit_width(static_cast<unsigned>(p)) - 1; }
inline int log2_ceil(int p) { return std::bit_width(static_cast<unsigned>(p) - 1); }

}  // namespace stretto::schedule
