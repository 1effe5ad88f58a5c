// The ranks of this run: who is on which host, and how a few of them work while the others keep quiet.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "world.hpp"

namespace stretto::measure {

struct Ranks {
  const World& world;
  int rank = 0, size = 1;
  int hosts = 1;
  std::vector<int> host_of;        // by rank; hosts are numbered in the order of their lowest rank
  std::vector<std::string> names;  // of the hosts; ranks whose hosts have one name are on one, as communicators take it

  explicit Ranks(const World& world);

  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> of_host(int host) const;

  // The first two ranks that share a host, and the first two that do not; {-1, -1} where there are none.
  std::pair<int, int> pair_inside() const;
  std::pair<int, int> pair_between() const;

  // Collective. Runs `work` on the ranks that are `active`; the others sleep until it has ended everywhere, so that they take
  // no core from those that work.
  void while_quiet(bool active, const std::function<void()>& work) const;

  // Collective. What rank `from` holds, on every rank.
  template <class T>
  T from(int from, const T& value) const {
    std::vector<T> all;
    must(world.exchange().allgather(value, &all));
    return all[static_cast<std::size_t>(from)];
  }

  // Collective. Of each value the largest over the ranks.
  void largest(std::span<double> values) const;

  // Called by these ranks alone, in the same order of them; this rank is one.
  void barrier(const std::vector<int>& members) const;
};

}  // namespace stretto::measure
