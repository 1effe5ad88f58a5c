#include "backend/schedule_cache.hpp"

#include <algorithm>

#include "schedule/registry.hpp"

namespace stretto::backend {
namespace {

bool same(const schedule::Request& a, const schedule::Request& b) noexcept {
  return a.collective == b.collective && a.ranks == b.ranks && a.rank == b.rank && a.root == b.root &&
         a.blocks == b.blocks && a.radix == b.radix && a.split == b.split && a.groups == b.groups;
}

}  // namespace

std::shared_ptr<const schedule::Schedule> ScheduleCache::get(const std::string& algorithm,
                                                             const schedule::Request& request) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.algorithm == algorithm && same(e.request, request); });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
    return entries_.back().schedule;
  }
  const schedule::Algorithm* a = schedule::find(request.collective, algorithm);
  if (!a) return nullptr;
  if (entries_.size() == kCapacity) entries_.erase(entries_.begin());
  entries_.push_back({algorithm, request, std::make_shared<const schedule::Schedule>(a->build(request))});
  return entries_.back().schedule;
}

}  // namespace stretto::backend
