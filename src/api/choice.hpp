// Which schedule, payload and segment a collective runs with: what the model predicts to be the cheapest among what the caller
// leaves open. A choice follows from what all ranks agree on, so every rank chooses alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/collective.hpp"
#include "api/course.hpp"
#include "api/native.hpp"
#include "api/once.hpp"
#include "api/why.hpp"
#include "base/status.hpp"
#include "model/choose.hpp"
#include "payload/payload.hpp"
#include "schedule/schedule.hpp"

namespace stretto::api {

// Names of schedules as small numbers for the agreement: 0 is "chosen", -1 a name that is none.
int schedule_index(const char* name) noexcept;
const char* schedule_name(int index) noexcept;

// A forced schedule must exist, offer the collective, and keep the order of an operation that does not commute (with ranks in these
// groups; null: each alone); a native collective must be there and serve the call, exact.
Status check_schedule(const Call& call, const Natives& natives, const schedule::Groups* groups);

struct Choice {
  bool native =
      false;  // the provider's own collective; the rest but `provider`, `otherwise`, `kind` and `why` is void then
  model::Provider provider = model::Provider::mpi;
  bool otherwise = false;  // of the node's: NodeNative::otherwise()
  std::string schedule;
  payload::Kind kind = payload::Kind::raw;
  bool raw_inside = false;    // raw inside a host, `kind` between hosts
  std::size_t raw_below = 0;  // bytes: messages of fewer travel raw, whatever `kind`
  std::size_t segment = 0;    // bytes; 0: uncut
  int blocks = 0;             // pieces of a pipelined schedule; 0: what it needs
  int radix = 2;
  Why why;
};

// Whether a call's values may travel as streams, and whether its sums must be of these alone (no value is added in its own type).
struct Streaming {
  constexpr Streaming(bool may_stream, bool codes_alone = false) noexcept  // NOLINT: a bool says enough
      : may(may_stream), alone(codes_alone) {}
  bool may, alone;
};

// What a vector is assumed to compress by before anything is known of it, and at best.
inline constexpr double usual_ratio = 4, best_ratio = 32;

// One model for the ranks of a process that share it.
struct SharedChooser {
  SharedChooser(model::Profile profile, topology::Topology topology)
      : chooser(std::move(profile), std::move(topology)) {}
  std::mutex mutex;
  model::Chooser chooser;
  // Longest message to another host that is not announced first (carrier/mpi_eager_limit.hpp); 0: length makes no such difference.
  std::size_t eager_limit = 0;
};

// The choices of one rank of a communicator. Predictions are a pure function of the question's cell in the model's grid; answers are at
// hand without the model. Where the native collective serves and the prediction is not clear, blocking calls of one shape, but for the first, take turns
// with several choices until the ranks agree on the fastest (course.hpp; stretto.h, Trials): what to try takes the model's whole table, and many a
// shape comes once. What a trial has come to changes only where all ranks are at the same call: when a blocking one runs and ends.
class Choices {
 public:
  explicit Choices(std::shared_ptr<SharedChooser> shared);

  const schedule::Groups& groups() const noexcept { return groups_; }
  int hosts() const noexcept { return static_cast<int>(groups_.members.size()); }
  std::size_t eager_limit() const noexcept { return shared_->eager_limit; }

  // What is predicted to be the cheapest. `bytes` is the length of the whole vector (of all blocks); `streams`: where a bound allows them,
  // they shrink the vector by about `ratio`; `native`: which native collectives serve the call. The result is valid until
  // the next call. Never fails: where the model has no answer, the collective's default serves.
  const Choice& choose(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native);

  // The same for a blocking call: what a trial has found; or whose turn it is in one, then *trial is not 0; or what is predicted.
  // `begins`: the call is about to run with it. Where it only looks, *unasked says what whoever runs the call without asking again
  // passes to ran().
  const Choice& turn(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native, bool begins,
                     Trial* trial, Unasked* unasked = nullptr);
  void ran(const Unasked& unasked) noexcept;

  // Whether the call may run with streams.
  bool may_stream(const Call& call, std::size_t bytes, double ratio, Served native);

  // Whether the call of a trial is the first of a turn, which the ranks begin together.
  bool meets(Trial trial) const noexcept;

  // A call of a trial took `seconds` on this rank (infinity: it failed). True: exchange the maximum over all ranks of times(), and settle()
  // with it, which may end the trial.
  bool took(Trial trial, double seconds) noexcept;
  std::vector<double> times(Trial trial) const;
  void settle(Trial trial, const std::vector<double>& slowest) noexcept;

 private:
  // A call as the model is asked about it.
  struct Asked {
    model::Question question;  // on the grid
    bool mixed = false;        // raw inside and streams between were asked for
    bool tries = false;        // trials are allowed
    bool otherwise = false;    // Served::otherwise
    std::uint64_t cell = 0;    // of all this
    Trial trial = 0;           // and of what else tells shapes apart
  };
  struct Answer {
    Asked asked;
    Choice choice;
    bool open = false;                               // trials are allowed, and long enough a time is predicted
    std::optional<std::vector<Choice>> contestants;  // where `open` and they were wanted; empty: nothing to try
  };
  struct Tried {
    std::vector<Choice> contestants;
    Course course;
  };
  Asked put(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native) const;
  Answer& answer(Asked&& asked);
  const std::vector<Choice>& contestants(Answer& a) const;

  std::shared_ptr<SharedChooser> shared_;
  schedule::Groups groups_;
  std::unordered_map<std::uint64_t, Answer> answers_;  // by cell, at most most_answers; then all are forgotten
  RanOnce ran_once_;                                   // alike on all ranks
  std::unordered_map<Trial, Tried> contests_;          // never more than most_contests; none is dropped or moved
};

// Ratios that the ranks agreed on in blocking calls, by what was asked for. The same on every rank, as all ranks call alike.
class Ratios {
 public:
  // Of vectors like this one.
  std::optional<double> recall(const Call& call, std::size_t bytes) const noexcept;
  void remember(const Call& call, std::size_t bytes, double ratio) noexcept;

  // Grows whenever something else is remembered.
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    double ratio = 0;
  };
  std::array<Entry, 64> entries_;
  std::uint64_t changes_ = 0;
};

// Schedules already built by a communicator.
class Schedules {
 public:
  std::shared_ptr<const schedule::Schedule> get(const std::string& algorithm, const schedule::Request& request);

 private:
  struct Entry {
    std::string algorithm;
    schedule::Request request;
    std::shared_ptr<const schedule::Schedule> schedule;
  };
  std::vector<Entry> entries_;  // the latest last, at most `capacity`
  static constexpr std::size_t capacity = 16;
};

}  // namespace stretto::api
