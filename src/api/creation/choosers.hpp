// Models kept for later communicators: the first answer of a model takes the time of several calls.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/profile/profile.hpp"
#include "select/choice/choices.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

class Choosers {
 public:
  static constexpr std::size_t kMost = 8;  // the oldest is forgotten, and lives as long as its communicators

  static Choosers& here() {
    static Choosers& all = *new Choosers;  // threads may make communicators at exit
    return all;
  }

  std::shared_ptr<select::SharedChooser> of(const std::string& key, model::Profile profile, topology::Topology topology,
                                            std::string messages) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const CachedChooser& k) { return k.key == key; });
    if (found != kept_.end()) return found->chooser;
    const std::size_t eager_limit = profile.eager_limit;
    auto made = std::make_shared<select::SharedChooser>(std::move(profile), std::move(topology));
    made->eager_limit = eager_limit;
    made->messages = std::move(messages);
    if (kept_.size() >= kMost) kept_.erase(kept_.begin());
    kept_.push_back({key, made});
    return made;
  }

 private:
  struct CachedChooser {
    std::string key;
    std::shared_ptr<select::SharedChooser> chooser;
  };
  std::mutex mutex_;
  std::vector<CachedChooser> kept_;
};

}  // namespace stretto::api
