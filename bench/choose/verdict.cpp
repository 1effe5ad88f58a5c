#include "bench/choose/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "timing/rows.hpp"

namespace stretto::bench {
namespace {

// Every second sample, from `first` on.
std::vector<double> half(const std::vector<double>& ms, std::size_t first) {
  std::vector<double> some;
  for (std::size_t i = first; i < ms.size(); i += 2) some.push_back(ms[i]);
  return some;
}

const Rounds* least(const std::vector<const Rounds*>& all, std::size_t first) {
  const auto before = [&](const Rounds* a, const Rounds* b) {
    return timing::median(half(a->ms, first)) < timing::median(half(b->ms, first));
  };
  return *std::min_element(all.begin(), all.end(), before);
}

}  // namespace

Interval ratio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> r;
  for (std::size_t i = 0; i < above.size(); ++i) r.push_back(above[i] / below[i]);
  std::sort(r.begin(), r.end());
  const auto n = static_cast<double>(r.size());
  const auto k = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
  return {r[k], timing::median(r), r[r.size() - 1 - k]};
}

Verdict judge(const std::vector<double>& chosen, const std::vector<double>& mpi, const std::vector<Rounds>& others,
              const std::string& pick) {
  Verdict v;
  v.over = ratio(chosen, mpi);
  std::vector<const Rounds*> rivals;
  std::vector<double> own = chosen;  // two samples per round if the pick was also forced
  const Rounds* twin = nullptr;
  for (const Rounds& other : others) {
    if (other.name == pick) {
      twin = &other;
    } else {
      rivals.push_back(&other);
    }
  }
  v.open = v.over.straddles(1 + kToleratedOver);
  if (rivals.empty()) return v;
  const auto picked = [&](std::size_t first) {
    std::vector<double> some = half(chosen, first);
    if (twin) {
      const std::vector<double> more = half(twin->ms, first);
      some.insert(some.end(), more.begin(), more.end());
    }
    return timing::median(some);
  };
  for (const std::size_t looked : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t read = chosen.size() > 1 ? 1 - looked : 0;
    const Rounds* best = least(rivals, chosen.size() > 1 ? looked : 0);
    v.regret += (picked(read) / timing::median(half(best->ms, read)) - 1) / 2;
  }
  v.regret = std::max(0.0, v.regret);
  const Rounds* best = *std::min_element(rivals.begin(), rivals.end(), [](const Rounds* a, const Rounds* b) {
    return timing::median(a->ms) < timing::median(b->ms);
  });
  v.best = best->name;
  v.best_ms = timing::median(best->ms);
  if (twin) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = (own[i] + twin->ms[i]) / 2;
  }
  v.open = v.open || ratio(own, best->ms).straddles(1 + kToleratedRegret);
  return v;
}

}  // namespace stretto::bench
