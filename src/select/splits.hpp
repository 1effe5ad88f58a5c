// How many levels of a tree the application's core does, where communication cores drive the rest (schedule::Lane).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/registry.hpp"
#include "select/choices.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Of one rank of a communicator. Ranks need not agree: who does a step changes nothing that others see.
class Splits {
 public:
  explicit Splits(std::shared_ptr<SharedChooser> shared) : shared_(std::move(shared)) {}

  // So many in every tree, whatever the model says; nothing: as it says.
  void force(std::optional<int> levels) noexcept { forced_ = levels; }

  // By the model (model::best_split), for `bytes` of the whole vector and so many communication cores of the host. 0 for
  // what is no tree of ours, where ranks share cores, or it is not known whether they do, and where no memory is left.
  int of(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores) noexcept;

 private:
  struct Answer {
    const schedule::Algorithm* algorithm = nullptr;
    std::size_t bytes = 0;
    int radix = 2, comm_cores = 0, levels = 0;
  };

  std::shared_ptr<SharedChooser> shared_;
  std::optional<int> forced_;
  std::vector<Answer> answers_;  // the latest last, at most most_answers
  static constexpr std::size_t most_answers = 16;
};

}  // namespace stretto::select
