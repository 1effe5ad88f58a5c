#include <algorithm>

#include "parts.hpp"
#include "schedule/names.hpp"
#include "schedule/schedule.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

constexpr Collective kCollectives[] = {Collective::allreduce, Collective::broadcast, Collective::reduce,
                                       Collective::allgather, Collective::reduce_scatter, Collective::gather,
                                       Collective::scatter,   Collective::alltoall,  Collective::barrier};

// The MPI's collective over vectors of floats; `bytes` of the whole vector, of alltoall what a rank sends to all.
class Native {
 public:
  Native(MPI_Comm comm, int ranks, std::size_t largest)
      : comm_(comm), ranks_(ranks), in_(largest / sizeof(float) + static_cast<std::size_t>(ranks)), out_(in_.size()) {}

  void rewrite(std::size_t bytes) {
    value_ += 1;
    std::fill_n(in_.begin(), bytes / sizeof(float), value_);
  }

  void run(Collective collective, std::size_t bytes) {
    const int whole = static_cast<int>(bytes / sizeof(float)), block = whole / ranks_;
    float *in = in_.data(), *out = out_.data();
    switch (collective) {
      case Collective::allreduce: MPI_Allreduce(in, out, whole, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::broadcast: MPI_Bcast(in, whole, MPI_FLOAT, 0, comm_); return;
      case Collective::reduce: MPI_Reduce(in, out, whole, MPI_FLOAT, MPI_SUM, 0, comm_); return;
      case Collective::allgather: MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, comm_); return;
      case Collective::reduce_scatter: MPI_Reduce_scatter_block(in, out, block, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::gather: MPI_Gather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, comm_); return;
      case Collective::scatter: MPI_Scatter(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, comm_); return;
      case Collective::alltoall: MPI_Alltoall(in, block, MPI_FLOAT, out, block, MPI_FLOAT, comm_); return;
      case Collective::barrier: MPI_Barrier(comm_); return;
    }
  }

 private:
  MPI_Comm comm_;
  int ranks_;
  std::vector<float> in_, out_;
  float value_ = 0;
};

// Of each sample the slowest rank's time; of those the median. Every sample starts at a barrier, with inputs just rewritten.
Timing time(const Ranks& ranks, Native& native, Collective collective, std::size_t bytes, const Budget& budget) {
  double start = 0;
  for (int warm = 0; warm < 2; ++warm) {
    start = now();
    native.rewrite(bytes);
    MPI_Barrier(ranks.comm);
    native.run(collective, bytes);
  }
  int count = budget.samples(now() - start);
  MPI_Bcast(&count, 1, MPI_INT, 0, ranks.comm);
  const double cost = clock_cost();
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    native.rewrite(bytes);
    MPI_Barrier(ranks.comm);
    start = now();
    native.run(collective, bytes);
    samples.push_back(std::max(0.0, now() - start - cost));
  }
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), count, MPI_DOUBLE, MPI_MAX, ranks.comm);
  return summary(samples);
}

std::vector<std::size_t> sizes(Collective collective, bool quick) {
  if (collective == Collective::barrier) return {0};
  std::vector<std::size_t> all;
  for (std::size_t n = 8; n <= (std::size_t{16} << 20); n *= quick ? 16 : 4) all.push_back(n);
  if (all.back() != std::size_t{16} << 20) all.push_back(std::size_t{16} << 20);
  return all;
}

}  // namespace

void native(const Job& job) {
  const Ranks& ranks = job.ranks;
  int steps = 0;
  for (const Collective c : kCollectives) steps += static_cast<int>(sizes(c, job.quick).size());
  job.report.begin(Part::native, steps);
  const std::size_t least = static_cast<std::size_t>(ranks.size) * sizeof(float);  // one value a block
  Native native(ranks.comm, ranks.size, std::size_t{16} << 20);
  for (const Collective collective : kCollectives) {
    for (const std::size_t bytes : sizes(collective, job.quick)) {
      const bool cut = collective != Collective::allreduce && collective != Collective::broadcast &&
                       collective != Collective::reduce && collective != Collective::barrier;
      if (!cut || bytes >= least) {
        const Timing t = time(ranks, native, collective, bytes, {job.seconds(0.08), 4, 2000});
        job.report.row({{"collective", schedule::name(collective)},
                        {"bytes", bytes},
                        {"seconds", t.median},
                        {"least", t.least},
                        {"samples", t.samples}});
      }
      job.report.step();
    }
  }
}

}  // namespace stretto::measure
