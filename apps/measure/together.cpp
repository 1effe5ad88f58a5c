#include "together.hpp"

#include <algorithm>

namespace stretto::measure {

std::vector<Crew> crews(const Job& job) {
  const std::vector<int> here = job.ranks.of_host(job.ranks.host());
  const auto cpus = job.machine.cpus();
  const auto position = static_cast<std::size_t>(std::find(here.begin(), here.end(), job.ranks.rank) - here.begin());
  std::vector<Crew> all{{1, job.ranks.rank == 0, cpus.empty() ? -1 : cpus[0]}};

  int busy = static_cast<int>(std::min(here.size(), cpus.size()));
  MPI_Bcast(&busy, 1, MPI_INT, 0, job.ranks.comm);  // hosts may differ: as many on each as on the first
  if (busy < 2) return all;
  const bool active = position < static_cast<std::size_t>(busy);
  all.push_back({busy, active, active && position < cpus.size() ? cpus[position] : -1});
  return all;
}

Timing time_crew(const Job& job, const Crew& crew, const Budget& budget, const std::function<void()>& work) {
  Timing t;
  const SubComm comm(job.ranks.comm, crew.active);
  job.ranks.while_quiet(crew.active, [&] {
    const Bound bound(job.machine, crew.cpu);
    MPI_Barrier(comm.get());
    t = sample(budget, work);
  });
  double numbers[3] = {t.median, t.mean, t.least};
  MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_DOUBLE, MPI_MAX, job.ranks.comm);
  MPI_Allreduce(MPI_IN_PLACE, &t.samples, 1, MPI_INT, MPI_MAX, job.ranks.comm);
  return {numbers[0], numbers[1], numbers[2], t.samples};
}

}  // namespace stretto::measure
