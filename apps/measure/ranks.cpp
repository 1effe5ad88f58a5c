#include "ranks.hpp"

#include <algorithm>

#include <unistd.h>

namespace stretto::measure {
namespace {

enum Tag { kDone = 100, kGo, kMeet };  // above PingPong's tags

using Name = std::array<char, 256>;

Name own_host_name() {
  Name name{};
  gethostname(name.data(), name.size() - 1);
  return name;
}

}  // namespace

Ranks::Ranks(const World& all) : world(all), rank(all.rank()), size(all.size()) {
  std::vector<Name> of;
  must(world.exchange().allgather(own_host_name(), &of));
  for (const Name& name : of) {
    const std::string text = name.data();
    auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) found = names.insert(names.end(), text);
    host_of.push_back(static_cast<int>(found - names.begin()));
  }
  hosts = static_cast<int>(names.size());
}

std::vector<int> Ranks::of_host(int host) const {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) {
    if (host_of[static_cast<std::size_t>(r)] == host) all.push_back(r);
  }
  return all;
}

std::pair<int, int> Ranks::pair_inside() const {
  for (int h = 0; h < hosts; ++h) {
    const auto of = of_host(h);
    if (of.size() >= 2) return {of[0], of[1]};
  }
  return {-1, -1};
}

std::pair<int, int> Ranks::pair_between() const {
  if (hosts < 2) return {-1, -1};
  return {of_host(0)[0], of_host(1)[0]};
}

void Ranks::while_quiet(bool active, const std::function<void()>& work) const {
  if (active) work();
  if (rank != 0) {
    world.send(0, kDone, nullptr, 0);
    world.await(0, kGo, !active);
    return;
  }
  for (int r = 1; r < size; ++r) world.await(r, kDone, !active);
  for (int r = 1; r < size; ++r) world.send(r, kGo, nullptr, 0);
}

void Ranks::largest(std::span<double> values) const {
  std::vector<double> all(values.size() * static_cast<std::size_t>(size));
  must(world.exchange().allgather(values.data(), values.size_bytes(), all.data()));
  for (std::size_t i = 0; i < all.size(); ++i) values[i % values.size()] = std::max(values[i % values.size()], all[i]);
}

void Ranks::barrier(const std::vector<int>& members) const {
  const std::size_t p = members.size();
  const auto me = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  for (std::size_t away = 1; away < p; away *= 2)
    world.shift(members[(me + away) % p], nullptr, members[(me + p - away) % p], nullptr, 0, kMeet);
}

}  // namespace stretto::measure
