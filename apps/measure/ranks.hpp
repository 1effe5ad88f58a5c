// The ranks of this run and their hosts, with means to let a few of them work while the others are quiet.
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
  std::vector<std::string> names;  // names of the hosts; equal names mean one host, as in communicators

  explicit Ranks(const World& world);

  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> of_host(int host) const;

  // The first two ranks that share a host, and the first two that do not; {-1, -1} if there are none.
  std::pair<int, int> pair_inside() const;
  std::pair<int, int> pair_between() const;

  // Collective. Runs `work` on the `active` ranks; the others sleep until it has ended everywhere, so that they use no
  // core.
  void while_quiet(bool active, const std::function<void()>& work) const;

  // Collective. The value of rank `from`, on every rank.
  template <class T>
  T from(int from, const T& value) const {
    std::vector<T> all;
    must(world.exchange().allgather(value, &all));
    return all[static_cast<std::size_t>(from)];
  }

  // Collective. Replaces each value by its maximum over the ranks.
  void largest(std::span<double> values) const;

  // Called by these ranks alone, with equal arguments; this rank is a member.
  void barrier(const std::vector<int>& members) const;
};

}  // namespace stretto::measure
