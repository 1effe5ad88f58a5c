// What this process holds once, however many groups use it: found by key, made when first asked for, gone with its last user.
// Safe between threads. A forked child finds nothing of its parent's (its copy of a mapping is not there), and may ask anew.
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
  // The one of this process for the Value's Key. Never destroyed: groups may outlive other statics.
  static Shared& mine() noexcept {
    alignas(Shared) static std::byte place[sizeof(Shared)];
    static Shared* const only = [] {
      auto* made = new (place) Shared;
      // No fork while a thread is in here: the child could never enter.
      pthread_atfork([] { mine().mutex_.lock(); }, [] { mine().mutex_.unlock(); }, [] { mine().mutex_.unlock(); });
      return made;
    }();
    return *only;
  }

  // Null when no group holds it.
  std::shared_ptr<Value> find(const Key& key) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find({fork_generation(), key});
    return at == held_.end() ? nullptr : at->second.lock();
  }

  // What is held, or else what make(held) gives: a shared pointer, null where there is none. `held`: how many others there are.
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
