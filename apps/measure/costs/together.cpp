#include "costs/together.hpp"

#include <algorithm>

namespace stretto::measure {

std::vector<RankGroup> rank_groups(const Job& job) {
  const std::vector<int> here = job.ranks.of_host(job.ranks.host());
  const auto cpus = job.machine.cpus();
  const auto position = static_cast<std::size_t>(std::find(here.begin(), here.end(), job.ranks.rank) - here.begin());
  std::vector<RankGroup> all{{1, {0}, job.ranks.rank == 0, cpus.empty() ? -1 : cpus[0]}};

  // Hosts may differ: use as many ranks on each as on the first.
  const int busy = job.ranks.from(0, static_cast<int>(std::min(here.size(), cpus.size())));
  if (busy < 2) return all;
  const bool active = position < static_cast<std::size_t>(busy);
  RankGroup group{busy, {}, active, active && position < cpus.size() ? cpus[position] : -1};
  for (int h = 0; h < job.ranks.hosts; ++h) {
    const std::vector<int> of = job.ranks.of_host(h);
    group.members.insert(group.members.end(), of.begin(),
                         of.begin() + std::min<std::ptrdiff_t>(busy, static_cast<std::ptrdiff_t>(of.size())));
  }
  all.push_back(std::move(group));
  return all;
}

Timing time_group(const Job& job, const RankGroup& group, const Budget& budget, const std::function<void()>& work) {
  Timing t;
  job.ranks.while_quiet(group.active, [&] {
    const Bound bound(job.machine, group.cpu);
    job.ranks.barrier(group.members);
    t = sample(budget, work);
  });
  std::array<double, 4> numbers{t.median, t.mean, t.least, static_cast<double>(t.samples)};
  job.ranks.largest(numbers);
  return {numbers[0], numbers[1], numbers[2], static_cast<int>(numbers[3])};
}

}  // namespace stretto::measure
