#include "topology/topology.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

namespace stretto::topology {
namespace {

bool apart(std::int32_t a, std::int32_t b) noexcept { return a >= 0 && b >= 0 && a != b; }

}  // namespace

const char* name(Distance d) noexcept {
  switch (d) {
    case Distance::cache: return "cache";
    case Distance::socket: return "socket";
    case Distance::node: return "node";
    case Distance::network: return "network";
  }
  return "?";
}

Distance distance(const Place& a, const Place& b) noexcept {
  if (a.host != b.host) return Distance::network;
  if (apart(a.socket, b.socket)) return Distance::node;
  if (apart(a.cache, b.cache)) return Distance::socket;
  return Distance::cache;
}

Topology::Topology(std::vector<Place> places, int cores_per_host) : places_(std::move(places)), cores_(cores_per_host) {
  std::unordered_map<std::int32_t, std::int32_t> index;
  host_of_.reserve(places_.size());
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const auto [at, is_new] = index.try_emplace(places_[r].host, static_cast<std::int32_t>(hosts_.size()));
    if (is_new) hosts_.emplace_back();
    hosts_[static_cast<std::size_t>(at->second)].push_back(static_cast<std::int32_t>(r));
    host_of_.push_back(at->second);
  }
  static_cast<void>(take_levels(kAllLevels));
}

Topology Topology::regular(int ranks, int per_host) {
  std::vector<Place> places(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) places[static_cast<std::size_t>(r)].host = r / per_host;
  return Topology(std::move(places));
}

Distance Topology::distance(int a, int b) const noexcept { return topology::distance(place(a), place(b)); }

std::span<const std::int32_t> Topology::ranks_of(int host) const noexcept {
  return hosts_[static_cast<std::size_t>(host)];
}

int Topology::host_of(int rank) const noexcept { return host_of_[static_cast<std::size_t>(rank)]; }

bool Topology::uniform() const noexcept {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [&](const auto& ranks) { return ranks.size() == hosts_.front().size(); });
}

void Topology::add_level(std::int32_t Place::*number) {
  std::vector<std::int32_t> level(places_.size(), 0), distinct;
  bool separates = false;
  for (const auto& ranks : hosts_) {
    const auto of = [&](std::int32_t r) { return place(r).*number; };
    if (std::any_of(ranks.begin(), ranks.end(), [&](std::int32_t r) { return of(r) < 0; })) continue;
    distinct.resize(ranks.size());
    std::transform(ranks.begin(), ranks.end(), distinct.begin(), of);
    for (const std::int32_t r : ranks) level[static_cast<std::size_t>(r)] = of(r);
    std::sort(distinct.begin(), distinct.end());
    const auto last = std::unique(distinct.begin(), distinct.end());
    separates = separates || (last != distinct.begin() + 1 && last != distinct.end());
  }
  if (separates) levels_.push_back(std::move(level));
}

Status Topology::lay_on_torus(std::vector<std::int32_t> sides) {
  std::string text;
  double places = 1;
  for (const std::int32_t side : sides) {
    text += fmt::format("{}{}", text.empty() ? "" : "x", side);
    places *= side < 1 ? 0 : side;
  }
  if (!sides.empty() && places != hosts())
    return fail(Status::invalid_argument, "a torus of {} has {:.0f} places, and there are {} hosts", text, places,
                hosts());
  torus_ = std::move(sides);
  return Status::ok;
}

Status Topology::take_levels(std::string_view labels) {
  bool sockets = false, nodes = false, caches = false;
  for (std::size_t at = 0; at < labels.size();) {
    const std::size_t end = std::min(labels.find(',', at), labels.size());
    const std::string_view label = labels.substr(at, end - at);
    at = end + 1;
    if (label != "l3" && label != "numa" && label != "socket")
      return fail(Status::invalid_argument, "'{}' is no level of a hierarchy: it takes l3, numa, socket", label);
    (label == "l3" ? caches : label == "numa" ? nodes : sockets) = true;
  }
  levels_ = {host_of_};
  if (sockets) add_level(&Place::socket);
  if (nodes) add_level(&Place::numa);
  if (caches) add_level(&Place::cache);
  return Status::ok;
}

}  // namespace stretto::topology
