// Chooses by the model what the caller leaves open, from values that all ranks agree on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "model/choose.hpp"
#include "schedule/schedule.hpp"
#include "select/choice/question.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Ratios assumed before the first measurement, and at best.
inline constexpr double kUsualRatio = 4, kBestRatio = 32;
inline constexpr double kHalfRatio = 2;  // of payload::Form::halves
inline constexpr call::Shrinks kUsualRatios{kUsualRatio, 6}, kBestRatios{kBestRatio, 64};

// Shared by a process' communicators whose ranks have equal places and profiles.
struct SharedChooser {
  SharedChooser(model::Profile profile, topology::Topology topology)
      : chooser(std::move(profile), std::move(topology)) {}

  struct CachedChoice {
    ModelQuery query;
    Choice choice;
  };
  struct RecentChoice {
    CallForm form;
    Choice choice;
    bool known = false;
  };

  std::mutex mutex;  // guards chooser, answers, recent
  model::Chooser chooser;
  // By cell of the model's grid; a full cache is cleared.
  std::unordered_map<std::uint64_t, CachedChoice> answers;
  std::array<RecentChoice, 64> recent;  // by hash_of() of the form
  // Transport::eager_limit
  std::size_t eager_limit = 0;
  std::string messages = "built-in";  // profile that provides the model's message times
};

class Choices {
 public:
  explicit Choices(std::shared_ptr<SharedChooser> shared);

  const schedule::Groups& groups() const noexcept { return groups_; }
  int hosts() const noexcept { return shared_->chooser.topology().hosts(); }
  std::size_t eager_limit() const noexcept { return shared_->eager_limit; }
  const char* messages() const noexcept { return shared_->messages.c_str(); }
  // Between hosts, the ranks' agreement on a bound takes longer than so many bytes of a link. 0: one host.
  std::size_t longest_brief() const noexcept { return longest_brief_; }

  // Valid until the next call. `bytes`: the whole vector. With `streaming`, streams may shrink it by about `ratios`.
  // Never fails: the collective's default serves.
  const Choice& choose(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                       Support support);

 private:
  const Choice& answer(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                       Support support);

  std::shared_ptr<SharedChooser> shared_;
  schedule::Groups groups_;
  std::size_t longest_brief_ = 0;
  Choice latest_;
};

}  // namespace stretto::select
