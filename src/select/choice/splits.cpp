#include "select/choice/splits.hpp"

#include <algorithm>

#include "base/guarded.hpp"
#include "model/split_tree.hpp"

namespace stretto::select {

int Splits::of(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores) noexcept {
  return value_or(0, [&] { return predicted(call, bytes, choice, comm_cores); });
}

int Splits::predicted(const Call& call, std::size_t bytes, const Choice& choice, int comm_cores) {
  if (choice.provider != Provider::schedules || call.device != nullptr) return 0;
  const auto family = schedule::family(call.collective);
  const schedule::Algorithm* algorithm = schedule::find(family, choice.schedule);
  if (algorithm == nullptr || !algorithm->uses_split) return 0;
  if (forced_) return *forced_;
  const topology::Topology& topology = shared_->chooser.topology();
  int ranks = 0;
  for (int h = 0; h < topology.hosts(); ++h) ranks = std::max(ranks, static_cast<int>(topology.ranks_of(h).size()));
  const int serving = std::min(comm_cores, ranks);  // one thread per process
  if (serving == 0 || ranks + serving > topology.cores_per_host()) return 0;
  const int radix = algorithm->uses_radix ? choice.radix : 2;
  const auto known = std::find_if(answers_.begin(), answers_.end(), [&](const CachedSplit& a) {
    return a.algorithm == algorithm && a.bytes == bytes && a.radix == radix && a.comm_cores == serving;
  });
  if (known != answers_.end()) return known->levels;
  const model::Machine machine = model::machine_of(shared_->chooser.profile(), 4, 1);
  const int levels =
      model::best_split(machine, {family, static_cast<double>(bytes), ranks, topology.hosts(), serving, radix});
  if (answers_.size() == kMostAnswers) answers_.erase(answers_.begin());
  answers_.push_back({algorithm, bytes, radix, serving, levels});
  return levels;
}

}  // namespace stretto::select
