// What the rounds of a cell of bench_choose say: is the choice slower than the MPI's own collective, and how far is it
// from the best combination. Plain arithmetic on samples, one a round; candidates of one round ran next to each other.
#pragma once

#include <string>
#include <vector>

namespace stretto::bench {

// 5 % more than the MPI's own is what a choice may cost, 10 % more than the best combination.
constexpr double tolerated_over = 0.05, tolerated_regret = 0.10;

struct Rounds {
  std::string name;
  std::vector<double> ms;
};

// The median of ratios, and an interval that holds the true median in about 95 of 100 cases, by order statistics. With
// fewer than six samples the interval is that of all.
struct Interval {
  double low = 0, middle = 0, high = 0;
  bool straddles(double x) const noexcept { return low <= x && x < high; }
};
// Of above[i] / below[i]; both hold as many.
Interval ratio(const std::vector<double>& above, const std::vector<double>& below);

struct Verdict {
  Interval over;       // the chosen against the MPI's own
  std::string best;    // of the combinations that are not the pick itself; empty where there is none
  double best_ms = 0;  // its median
  double regret = 0;   // of the pick against the best, as a fraction, at least 0
  bool open = false;   // more rounds may change what is said of one of the two tolerances
};

// `chosen` are the calls that left the choice to the library, `mpi` the MPI's own, `others` all forced combinations
// that compete, the MPI's own among them. `pick` names the one that was chosen (another name for the same function,
// whose samples count as the pick's); it may be none of them. The best is found in one half of the rounds and its
// distance read in the other, for both halves: the least of many noisy medians is less than the time of its
// combination.
Verdict judge(const std::vector<double>& chosen, const std::vector<double>& mpi, const std::vector<Rounds>& others,
              const std::string& pick);

}  // namespace stretto::bench
