// Levels of a tree on the application's core; communication cores drive the rest (schedule::Lane).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/registry.hpp"
#include "select/choice/choices.hpp"
#include "select/decision.hpp"

namespace stretto::select {

class Splits {
 public:
  explicit Splits(std::shared_ptr<SharedChooser> shared) : shared_(std::move(shared)) {}

  void force(std::optional<int> levels) noexcept { forced_ = levels; }

  // By model::best_split. `bytes`: of the whole vector; `comm_cores`: of the host. 0: no tree, shared cores, or no
  // memory.
  int of(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores) noexcept;

 private:
  int predicted(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores);

  struct CachedSplit {
    const schedule::Algorithm* algorithm = nullptr;
    std::size_t bytes = 0;
    int radix = 2, comm_cores = 0, levels = 0;
  };

  std::shared_ptr<SharedChooser> shared_;
  std::optional<int> forced_;
  std::vector<CachedSplit> answers_;
  static constexpr std::size_t kMostAnswers = 16;
};

}  // namespace stretto::select
