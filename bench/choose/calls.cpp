#include "bench/choose/calls.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "timing/mpi.hpp"

namespace stretto::bench {

using schedule::Collective;

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {
      {Collective::allreduce, "allreduce", true, false, {"ring", "recursive_doubling", "rabenseifner", "two_tree"}},
      {Collective::bcast, "bcast", true, false, {"binomial", "scatter_allgather", "two_tree"}},
      {Collective::reduce, "reduce", false, false, {"binomial", "rabenseifner", "two_tree"}},
      {Collective::allgather, "allgather", true, true, {"ring", "dissemination"}},
      {Collective::reduce_scatter, "reduce_scatter", false, true, {"ring", "recursive_halving"}},
      {Collective::alltoall, "alltoall", false, true, {"pairwise", "bruck"}},
      {Collective::gather, "gather", false, true, {"binomial", "linear"}},
      {Collective::scatter, "scatter", false, true, {"binomial", "linear"}},
      {Collective::barrier, "barrier", false, false, {"dissemination"}},
  };
  return kAll;
}

namespace {

int count_hosts() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0, hosts = 0;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  const int first = rank == 0 ? 1 : 0;
  MPI_Allreduce(&first, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return hosts;
}

}  // namespace

Calls::Calls(std::uint64_t most_bytes) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  hosts_ = count_hosts();
  const std::size_t count = most_bytes / sizeof(float) + static_cast<std::size_t>(ranks_);
  x_.resize(count);
  y_.resize(count);
  master_.resize(count);
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(rank_);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    master_[i] =
        static_cast<float>(std::sin(1e-3 * static_cast<double>(i) + rank_) + 1e-4 * (state >> 8U) / 16777216.0);
  }
  x_ = master_;
}

std::uint64_t Calls::fit(const Kind& kind, std::uint64_t bytes) const noexcept {
  if (kind.collective == Collective::barrier) return 0;
  return std::max<std::uint64_t>(bytes, sizeof(float) * (kind.by_rank ? static_cast<std::uint64_t>(ranks_) : 1));
}

void Calls::mpi(const Kind& kind, std::uint64_t bytes) {
  const int n = static_cast<int>(bytes / sizeof(float)), block = n / ranks_;
  float *x = x_.data(), *y = y_.data();
  const MPI_Comm all = MPI_COMM_WORLD;
  switch (kind.collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi: MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, all); return;
    case Collective::bcast: MPI_Bcast(x, n, MPI_FLOAT, 0, all); return;
    case Collective::reduce: MPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, all); return;
    case Collective::allgather:
    case Collective::allgatherv: MPI_Allgather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, all); return;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: MPI_Reduce_scatter_block(x, y, block, MPI_FLOAT, MPI_SUM, all); return;
    case Collective::alltoall:
    case Collective::alltoallv: MPI_Alltoall(x, block, MPI_FLOAT, y, block, MPI_FLOAT, all); return;
    case Collective::gather:
    case Collective::gatherv: MPI_Gather(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, all); return;
    case Collective::scatter:
    case Collective::scatterv: MPI_Scatter(x, block, MPI_FLOAT, y, block, MPI_FLOAT, 0, all); return;
    case Collective::scan: MPI_Scan(x, y, n, MPI_FLOAT, MPI_SUM, all); return;
    case Collective::exscan: MPI_Exscan(x, y, n, MPI_FLOAT, MPI_SUM, all); return;
    case Collective::barrier:
    case Collective::agreement: MPI_Barrier(all); return;
  }
}

stretto_status Calls::ours(const Kind& kind, std::uint64_t bytes, stretto_comm comm, const stretto_options& o) {
  const std::size_t n = bytes / sizeof(float), block = n / static_cast<std::size_t>(ranks_);
  float *x = x_.data(), *y = y_.data();
  switch (kind.collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi: return stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o);
    case Collective::bcast: return stretto_bcast(x, n, STRETTO_F32, 0, comm, &o);
    case Collective::reduce: return stretto_reduce(x, y, n, STRETTO_F32, STRETTO_SUM, 0, comm, &o);
    case Collective::allgather:
    case Collective::allgatherv: return stretto_allgather(x, y, block, STRETTO_F32, comm, &o);
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return stretto_reduce_scatter_block(x, y, block, STRETTO_F32, STRETTO_SUM, comm, &o);
    case Collective::alltoall:
    case Collective::alltoallv: return stretto_alltoall(x, y, block, STRETTO_F32, comm, &o);
    case Collective::gather:
    case Collective::gatherv: return stretto_gather(x, y, block, STRETTO_F32, 0, comm, &o);
    case Collective::scatter:
    case Collective::scatterv: return stretto_scatter(x, y, block, STRETTO_F32, 0, comm, &o);
    case Collective::scan: return stretto_scan(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o);
    case Collective::exscan: return stretto_exscan(x, y, n, STRETTO_F32, STRETTO_SUM, comm, &o);
    case Collective::barrier:
    case Collective::agreement: return stretto_barrier(comm, &o);
  }
  return STRETTO_INTERNAL;
}

double Calls::sample(const std::function<void()>& call, int calls, std::uint64_t bytes) {
  std::memcpy(x_.data(), master_.data(), bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  return timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) / calls * 1e3);
}

int Calls::calls_for(double ms) { return std::clamp(static_cast<int>(0.5 / std::max(ms, 1e-6)), 1, 500); }

}  // namespace stretto::bench
