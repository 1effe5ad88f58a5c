// A trial: blocking calls of one shape run as the leader does, and now and then, within a budget, a turn measures another
// candidate. A candidate that is measured to be faster takes the lead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "call/agreement.hpp"

namespace stretto::select {

using call::TurnTimes;

// The regret of a trial is the time that its turns have taken beyond the leader's, and the time of the agreements that
// begin turns. A turn is postponed while its expected regret, added to the regret so far, exceeds `budget` times the
// time of all calls of the shape. A candidate that was not measured yet is expected to take twice the leader's time at
// least.
//
// A turn is one call, or several short calls in a row. Ranks begin a turn together, by an agreement, which also carries
// the times of the turn before. Turns of the leader and of a challenger alternate. A challenger's first turn warms up.
// A challenger drops out when a turn shows that it is far behind, or when its median is not below the leader's by
// `margin` after `rounds` turns; otherwise it takes the lead. The trial is over when every candidate was measured.
//
// Every rank makes the same calls and sees the same merged times, so all ranks draw the same conclusions.
class Autotuner {
 public:
  static constexpr double budget = 0.05;        // of the time of all calls of the shape
  static constexpr double margin = 0.1;         // of the leader's time
  static constexpr std::size_t rounds = 3;      // turns of a challenger after its first
  static constexpr std::size_t most_calls = 4;  // of a turn, without the call that warms up

  // Candidate 0 leads. A call of it is predicted to take `seconds`. `agreement`: expected seconds of an agreement and
  // of finding the other candidates.
  Autotuner(double seconds, double agreement) noexcept;

  // The other candidates, by their predicted seconds; `predicted` starts with the leader's. Once, before the first
  // agreed().
  void enter(const std::vector<double>& predicted);
  bool entered() const noexcept { return !states_.empty(); }

  // The next call must begin with an agreement on times(), and then with agreed().
  bool due() const noexcept { return until_ == 0 && left_ == 0 && !over_; }
  // The next call is one of a turn: it is measured, and ends with took().
  bool measures() const noexcept { return left_ > 0; }
  bool over() const noexcept { return over_; }

  // Whose call the next one is.
  std::size_t turn() const noexcept { return left_ > 0 ? who_ : leader_; }
  std::size_t leader() const noexcept { return leader_; }
  // Whether a later call may be this candidate's.
  bool open(std::size_t candidate) const noexcept;

  // The latest turn as this rank measured it.
  TurnTimes times() const noexcept { return own_; }
  // With the merged times of all ranks. Precondition: due() and entered().
  void agreed(const TurnTimes& merged) noexcept;

  // A call of a turn took so long on this rank (infinity: it failed), after an agreement of so many seconds.
  void took(double seconds, double agreement) noexcept;

  // A call outside a turn ran.
  void ran() noexcept {
    ++calls_;
    if (until_ > 0 && --until_ == 0) ++changes_;
  }

  // Grows whenever the next call may run otherwise than the call before. A caller that keeps turn() asks again then.
  std::uint32_t changes() const noexcept { return changes_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct State {
    double factor = 1;  // the predicted time over the leader's
    bool in = true, warm = false;
    std::size_t turns = 0;                 // measured, after the first
    std::array<double, rounds> seconds{};  // of a call, of the latest turns
    void add(double s) noexcept { seconds[turns++ % rounds] = s; }
    double median() const noexcept;  // infinity: not measured
  };

  double leader_seconds() const noexcept;
  double expected(std::size_t candidate) const noexcept;
  std::size_t calls_of_turn(double seconds) const noexcept;
  std::size_t calls_of_warming() const noexcept;
  double regret_of_round(std::size_t candidate) const noexcept;
  void conclude(const TurnTimes& merged) noexcept;
  void plan() noexcept;
  void begin(std::size_t who) noexcept;
  void take_lead(std::size_t candidate) noexcept;

  std::vector<State> states_;
  double predicted_, agreement_, spent_ = 0;     // seconds: of the first leader's call; of an agreement; regret so far
  std::uint64_t calls_ = 0, until_ = 0;          // made; left before the next agreement
  std::size_t leader_ = 0, who_ = 0, left_ = 0;  // left_: calls of the turn
  std::size_t counted_ = 1;                      // calls of the turn that count: the last ones
  std::size_t leader_turns_ = 0;                 // since the challenger came
  std::size_t challenger_ = none;
  bool turned_ = false;  // a turn ended, and its times are not merged yet
  bool over_ = false;
  TurnTimes own_;
  std::uint32_t changes_ = 0;
};

}  // namespace stretto::select
