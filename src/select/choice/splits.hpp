// Levels of a tree that the application's core runs, while communication cores drive the rest (schedule::Lane).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/registry.hpp"
#include "select/choice/choices.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Ranks need not agree: the choice of the core changes nothing that others see.
class Splits {
 public:
  explicit Splits(std::shared_ptr<SharedChooser> shared) : shared_(std::move(shared)) {}

  // In every tree; empty: by the model.
  void force(std::optional<int> levels) noexcept { forced_ = levels; }

  // By the model (model::best_split), for `bytes` of the whole vector and `comm_cores` communication cores of the host.
  // 0 if it is no tree of ours, if ranks share cores or may do so, or without memory.
  int of(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores) noexcept;

 private:
  // Throws std::bad_alloc.
  int predicted(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores);

  struct CachedSplit {
    const schedule::Algorithm* algorithm = nullptr;
    std::size_t bytes = 0;
    int radix = 2, comm_cores = 0, levels = 0;
  };

  std::shared_ptr<SharedChooser> shared_;
  std::optional<int> forced_;
  std::vector<CachedSplit> answers_;
  static constexpr std::size_t most_answers = 16;
};

}  // namespace stretto::select
