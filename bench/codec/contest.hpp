// Comparison of speeds: several actions alternate repeatedly in one process, so that disturbances affect all of them;
// each action's time is its timing::median.
#pragma once

#include <ctime>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "timing/rows.hpp"

namespace stretto::bench {

// `thread`: CPU time of the calling thread, for work on one core. `wall`: for work on several.
enum class Clock : std::uint8_t { thread, wall };

inline double seconds(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Contest {
 public:
  void add(std::string name, std::function<void()> action) {
    runs_.push_back({std::move(name), std::move(action), {}});
  }

  // One warm-up round, then `rounds` counted rounds.
  void run(Clock clock, int rounds) {
    for (int round = 0; round <= rounds; ++round) {
      for (Run& r : runs_) {
        const double start = seconds(clock);
        r.action();
        const double took = seconds(clock) - start;
        if (round > 0) r.seconds.push_back(took);
      }
    }
  }

  // Median seconds of the action of that name.
  double time(const std::string& name) const {
    for (const Run& r : runs_) {
      if (r.name == name) return timing::median(r.seconds);
    }
    throw std::invalid_argument(fmt::format("nothing called \"{}\" ran", name));
  }

 private:
  struct Run {
    std::string name;
    std::function<void()> action;
    std::vector<double> seconds;
  };
  std::vector<Run> runs_;
};

}  // namespace stretto::bench
