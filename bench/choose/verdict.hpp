// Verdict on a cell of bench_choose: is the choice slower than the MPI's own collective, and how far is it from the
// best combination? Plain arithmetic on samples, one per round; candidates of a round ran next to each other.
#pragma once

#include <string>
#include <vector>

namespace stretto::bench {

// A choice may cost 5 % more than the MPI's own collective, and 10 % more than the best combination.
constexpr double kToleratedOver = 0.05, kToleratedRegret = 0.10;

struct Rounds {
  std::string name;
  std::vector<double> ms;
};

// The median of ratios, and an interval that contains the true median in about 95 of 100 cases, by order statistics.
// With fewer than six samples it contains all of them.
struct Interval {
  double low = 0, middle = 0, high = 0;
  bool straddles(double x) const noexcept { return low <= x && x < high; }
};
// Interval of the ratios above[i] / below[i]; both vectors have equal lengths.
Interval ratio(const std::vector<double>& above, const std::vector<double>& below);

struct Verdict {
  Interval over;       // chosen over the MPI's own
  std::string best;    // best combination other than the pick; empty: none
  double best_ms = 0;  // median of `best`
  double regret = 0;   // excess of the pick over the best, as a fraction, at least 0
  bool open = false;   // more rounds may change the verdict on a tolerance
};

// `chosen` are calls that left the choice to the library, `mpi` the MPI's own, `others` all competing forced
// combinations, including the MPI's own. `pick` is the name of the chosen combination, whose samples count as the
// pick's; it may be absent from `others`. The best is found in one half of the rounds and its distance measured in the
// other, for both halves, since the least of many noisy medians underestimates its combination's time.
Verdict judge(const std::vector<double>& chosen, const std::vector<double>& mpi, const std::vector<Rounds>& others,
              const std::string& pick);

}  // namespace stretto::bench
