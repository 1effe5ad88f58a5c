#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "schedule/check/dependencies.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct Place {
  std::int32_t rank = -1;
  std::int32_t step = -1;
};

std::string describe(std::span<const Schedule> all, Place place);

class Replay {
 public:
  // Schedules of ranks 0 to p-1, with legal peers and kinds; borrowed.
  explicit Replay(std::span<const Schedule> all);

  // Pairs the k-th send of a to b with the k-th receive at b from a. Fails if one is missing, or if blocks or levels
  // differ.
  Status match();

  // Issues each rank's steps in list order, once their dependencies are complete; a send ends with its receive. Calls
  // visit for each local step (sender.rank == -1) and message, in an order of completion, until a failure. A deadlock
  // fails with the chain of waiting ranks.
  using Visit = std::function<Status(Place step, Place sender)>;
  Status run(const Visit& visit);

  const Dependencies& dependencies(int rank) const { return dependencies_[static_cast<std::size_t>(rank)]; }

 private:
  struct Progress {
    std::size_t issued = 0;
    std::vector<bool> complete;
  };

  const Step& at(Place place) const;
  Place partner(Place place) const;
  bool issued(Place place) const;
  bool ready(Place place) const;
  Status diagnose() const;

  std::span<const Schedule> all_;
  std::vector<Dependencies> dependencies_;
  std::vector<std::vector<std::int32_t>> partner_;
  std::vector<Progress> progress_;
};

}  // namespace stretto::schedule
