// A process-wide cache of objects shared by groups: made on first request, destroyed with the last user. Thread safe. A
// forked child starts empty: it does not inherit mappings.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "node/memory/segment.hpp"

namespace stretto::node {

template <class Key, class Value>
class Shared {
 public:
  // Never destroyed: groups may outlive other statics.
  static Shared& mine() noexcept {
    alignas(Shared) static std::byte place[sizeof(Shared)];
    static Shared* const only = [] {
      auto* made = new (place) Shared;
      // Excludes forks while a thread holds the lock: the child could never take it.
      pthread_atfork([] { mine().mutex_.lock(); }, [] { mine().mutex_.unlock(); }, [] { mine().mutex_.unlock(); });
      return made;
    }();
    return *only;
  }

  // Null if no group holds it.
  std::shared_ptr<Value> find(const Key& key) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find({fork_generation(), key});
    return at == held_.end() ? nullptr : at->second.lock();
  }

  // The held object, or the result of make(held), perhaps null. `held` counts the others.
  template <class Make>
  std::shared_ptr<Value> get(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
    const Place place{fork_generation(), key};
    if (const auto at = held_.find(place); at != held_.end()) {
      if (auto found = at->second.lock()) return found;
    }
    std::weak_ptr<Value>& entry = held_[place];
    std::shared_ptr<Value> made = make(held_.size() - 1);
    entry = made;
    return made;
  }

 private:
  struct Place {
    unsigned generation;
    Key key;
    auto operator<=>(const Place&) const = default;
  };
  std::mutex mutex_;
  std::map<Place, std::weak_ptr<Value>> held_;
};

}  // namespace stretto::node
