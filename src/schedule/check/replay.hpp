// Runs the schedules of all ranks against each other, without data: in which order steps can be complete.
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

// Where a step is, for messages: "allreduce ring of 5 ranks: rank 2, step 7 (recv_combine out[3] <- 1)".
std::string describe(std::span<const Schedule> all, Place place);

class Replay {
 public:
  // Borrows the schedules of ranks 0 ... p-1. Their peers must be ranks, their kinds those of messages and local steps.
  explicit Replay(std::span<const Schedule> all);

  // Pairs the k-th send of a to b with the k-th receive at b from a. Fails when one has no counterpart, or when they name
  // different blocks or levels.
  Status match();

  // Issues every rank's steps in list order, each as soon as its dependencies are complete; a send ends with its receive. Calls
  // visit once for each local step (sender.rank == -1) and once for each message, in an order of completion, and stops with
  // its status if that is not ok. If nothing moves any more, fails with the chain of ranks that wait for each other.
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
  std::vector<std::vector<std::int32_t>> partner_;  // of each message, the step at its peer
  std::vector<Progress> progress_;
};

}  // namespace stretto::schedule
