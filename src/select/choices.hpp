// Chooses the schedule, payload and segment of a collective: the cheapest by the model among those that the caller
// leaves open. A choice depends only on what all ranks agree on, so every rank chooses alike.
#pragma once

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
#include "select/autotuner.hpp"
#include "select/decision.hpp"
#include "select/question.hpp"
#include "select/ran_once.hpp"

namespace stretto::select {

// The compression ratio assumed before anything is known of a vector, and the best one assumed.
inline constexpr double usual_ratio = 4, best_ratio = 32;

// One model for the ranks of a process that share it.
struct SharedChooser {
  SharedChooser(model::Profile profile, topology::Topology topology)
      : chooser(std::move(profile), std::move(topology)) {}
  std::mutex mutex;
  model::Chooser chooser;
  // The longest message to another host that is not announced first (Transport::eager_limit); 0: length makes no
  // difference.
  std::size_t eager_limit = 0;
  std::string messages = "built-in";  // the name of the profile whose times of messages the model has
};

// The choices of one rank of a communicator. Predictions are a pure function of the question's cell in the model's
// grid, and are cached by cell. Where a native collective serves, blocking calls of one shape have a trial
// (autotuner.hpp; docs/semantics.md). The first call of a shape has none, since many shapes come only once. The state of
// a trial changes only when a blocking call runs or ends, which all ranks do in the same order.
class Choices {
 public:
  explicit Choices(std::shared_ptr<SharedChooser> shared);

  const schedule::Groups& groups() const noexcept { return groups_; }
  int hosts() const noexcept { return static_cast<int>(groups_.members.size()); }
  std::size_t eager_limit() const noexcept { return shared_->eager_limit; }
  const char* messages() const noexcept { return shared_->messages.c_str(); }

  // The cheapest by prediction. `bytes` is the length of the whole vector (of all blocks). With `streaming`, streams
  // may shrink the vector by about `ratio`. The result is valid until the next call. Never fails: where the model has
  // no answer, the collective's default serves.
  const Choice& choose(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served);

  // The same for a blocking call: as a trial's leader, as the candidate whose turn it is in a trial, or as predicted.
  // Trials do not change here: begin() changes them by *turn when the call runs as `runs`. After an agreement on times
  // agreed() comes first, and then look() again.
  const Choice& look(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served, Turn* turn);
  void agreed(const Turn& turn, const call::TurnTimes& merged);
  void begin(const Turn& turn, const Choice& runs);

  // Whether the call may run with streams.
  bool may_stream(const Call& call, std::size_t bytes, double ratio, Served served);

  // Whether a call of the trial must begin with an agreement on times(trial). 0: false.
  bool due(Trial trial) const noexcept;
  call::TurnTimes times(Trial trial) const noexcept;

  // A call of a trial took `seconds` on this rank (infinity: it failed), after an agreement of so many seconds.
  void took(Trial trial, double seconds, double agreement) noexcept;

 private:
  struct Answer {
    Asked asked;
    Choice choice;
    bool open = false;                                      // trials are allowed, and long enough a time is predicted
    std::shared_ptr<const std::vector<Choice>> candidates;  // where `open` and they were wanted: the choice first
  };
  struct Tried {
    std::vector<Choice> candidates;  // at first the leader alone
    Autotuner autotuner;
  };
  Asked put(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served) const;
  Answer& answer(Asked&& asked);
  std::vector<Choice> candidates_of(const Asked& asked, const Choice& leader) const;
  const std::shared_ptr<const std::vector<Choice>>& candidates(Answer& a) const;

  std::shared_ptr<SharedChooser> shared_;
  schedule::Groups groups_;
  std::unordered_map<std::uint64_t, Answer> answers_;  // by cell, at most most_answers; then all are forgotten
  RanOnce ran_once_;                                   // alike on all ranks
  std::unordered_map<Trial, Tried> trials_;            // never more than most_trials; none is dropped or moved
};

}  // namespace stretto::select
