#include <algorithm>

#include "parts.hpp"
#include "schedule/names.hpp"
#include "schedule/schedule.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

constexpr Collective kCollectives[] = {Collective::allreduce, Collective::broadcast,      Collective::reduce,
                                       Collective::allgather, Collective::reduce_scatter, Collective::gather,
                                       Collective::scatter,   Collective::alltoall,       Collective::barrier};

bool is_cut(Collective c) noexcept {
  return c != Collective::allreduce && c != Collective::broadcast && c != Collective::reduce &&
         c != Collective::barrier;
}

// The MPI's collective over vectors of floats; `bytes` of the whole vector, as model::Native counts them.
class Native {
 public:
  Native(MPI_Comm comm, int ranks, std::size_t largest)
      : comm_(comm), ranks_(ranks), in_(largest / sizeof(float) + static_cast<std::size_t>(ranks)), out_(in_.size()) {}

  void rewrite(std::size_t bytes) {
    value_ += 1;
    std::fill_n(in_.begin(), bytes / sizeof(float), value_);
  }

  void run(Collective collective, std::size_t bytes, int root) {
    const int whole = static_cast<int>(bytes / sizeof(float)), block = whole / ranks_;
    float *in = in_.data(), *out = out_.data();
    switch (collective) {
      case Collective::allreduce: MPI_Allreduce(in, out, whole, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::broadcast: MPI_Bcast(in, whole, MPI_FLOAT, root, comm_); return;
      case Collective::reduce: MPI_Reduce(in, out, whole, MPI_FLOAT, MPI_SUM, root, comm_); return;
      case Collective::allgather: MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, comm_); return;
      case Collective::reduce_scatter: MPI_Reduce_scatter_block(in, out, block, MPI_FLOAT, MPI_SUM, comm_); return;
      case Collective::gather: MPI_Gather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, root, comm_); return;
      case Collective::scatter: MPI_Scatter(in, block, MPI_FLOAT, out, block, MPI_FLOAT, root, comm_); return;
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

// Calls one after the other in samples of `batch`, inputs rewritten before each, the root going round as in IMB so that no rank
// runs ahead of the others; a sample starts at a barrier. Of each sample the slowest rank's time a call, less that of rewriting;
// of those the median.
class Series {
 public:
  Series(const Ranks& ranks, Native& native, Collective collective, std::size_t bytes)
      : ranks_(ranks), native_(native), collective_(collective), bytes_(bytes) {}

  Timing time(const Budget& budget) {
    batch_seconds(2);  // not counted
    const double each = agreed(batch_seconds(2) / 2);
    const int batch = static_cast<int>(std::clamp(kSample / each, 1.0, 64.0));
    const int count = budget.samples(each * batch);
    const double rewriting = rewrite_seconds() + clock_cost() / batch;
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) samples.push_back(std::max(0.0, batch_seconds(batch) / batch - rewriting));
    MPI_Allreduce(MPI_IN_PLACE, samples.data(), count, MPI_DOUBLE, MPI_MAX, ranks_.comm);
    return summary(samples);
  }

 private:
  static constexpr double kSample = 100e-6;  // least seconds of a sample: what leaving the barrier takes shows no more

  double batch_seconds(int calls) {
    MPI_Barrier(ranks_.comm);
    const double start = now();
    for (int i = 0; i < calls; ++i) {
      native_.rewrite(bytes_);
      native_.run(collective_, bytes_, i % ranks_.size);
    }
    return now() - start;
  }

  double rewrite_seconds() {
    return sample({1e-3, 3, 50}, [&] { native_.rewrite(bytes_); }).least;
  }

  double agreed(double seconds) const {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, ranks_.comm);
    return std::max(seconds, 1e-9);
  }

  const Ranks& ranks_;
  Native& native_;
  Collective collective_;
  std::size_t bytes_;
};

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
      if (!is_cut(collective) || bytes >= least) {
        // Blocks are even: what a cut vector has beyond them does not travel, and is not counted.
        const std::size_t whole = is_cut(collective) ? bytes / least * least : bytes;
        const Timing t = Series(ranks, native, collective, whole).time({job.seconds(0.06), 4, 500});
        job.report.row({{"collective", schedule::name(collective)},
                        {"bytes", whole},
                        {"seconds", t.median},
                        {"least", t.least},
                        {"samples", t.samples}});
      }
      job.report.step();
    }
  }
}

}  // namespace stretto::measure
