// Runs collectives of several lengths and tells how each ran, for chosen_test.py.
//
// chosen c [BOUND]: by the C interface, exact or within an absolute bound; then exact sums that are started. Rank 0
// prints one line of JSON a call.
// chosen mpi: by the MPI alone. The profiling library, where it is loaded, tells the rest.
// chosen name: nothing runs; prints the MPI's name and version.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"
#include "timing/mpi.hpp"

namespace {

// Bytes of the whole vector, for 1 to 4 ranks: one in each size class of the profiling library's report.
constexpr std::size_t kSizes[] = {768, 49152, 786432, 6291456, 25165824};
constexpr const char* kNames[] = {"allreduce", "bcast", "allgather", "reduce_scatter_block"};

struct Buffers {
  std::vector<float> in, out;
};

// Smooth values: streams are clearly smaller than values.
Buffers filled(int rank) {
  const std::size_t n = kSizes[4] / sizeof(float);
  Buffers b{std::vector<float>(n), std::vector<float>(n)};
  for (std::size_t i = 0; i < n; ++i) b.in[i] = std::sin(1e-3F * static_cast<float>(i)) + static_cast<float>(rank);
  return b;
}

void by_mpi(const char* name, Buffers* b, std::size_t bytes, int ranks) {
  const int all = static_cast<int>(bytes / sizeof(float)), block = all / ranks;
  float *in = b->in.data(), *out = b->out.data();
  if (std::strcmp(name, "allreduce") == 0) MPI_Allreduce(in, out, all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (std::strcmp(name, "bcast") == 0) MPI_Bcast(in, all, MPI_FLOAT, 0, MPI_COMM_WORLD);
  if (std::strcmp(name, "allgather") == 0) MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, MPI_COMM_WORLD);
  if (std::strcmp(name, "reduce_scatter_block") == 0)
    MPI_Reduce_scatter_block(in, out, block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

stretto_status by_c(const char* name, Buffers* b, std::size_t bytes, int ranks, stretto_comm comm,
                    const stretto_options* o) {
  const std::size_t all = bytes / sizeof(float), block = all / static_cast<std::size_t>(ranks);
  float *in = b->in.data(), *out = b->out.data();
  if (std::strcmp(name, "allreduce") == 0) return stretto_allreduce(in, out, all, STRETTO_F32, STRETTO_SUM, comm, o);
  if (std::strcmp(name, "bcast") == 0) return stretto_bcast(in, all, STRETTO_F32, 0, comm, o);
  if (std::strcmp(name, "allgather") == 0) return stretto_allgather(in, out, block, STRETTO_F32, comm, o);
  return stretto_reduce_scatter_block(in, out, block, STRETTO_F32, STRETTO_SUM, comm, o);
}

// Exact, whatever the bound of the blocking calls.
stretto_status start_by_c(Buffers* b, std::size_t bytes, stretto_comm comm, stretto_report* report) {
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = report;
  stretto_request request = nullptr;
  const stretto_status s = stretto_iallreduce(b->in.data(), b->out.data(), bytes / sizeof(float), STRETTO_F32,
                                              STRETTO_SUM, comm, &o, &request);
  if (s != STRETTO_OK) return s;
  const stretto_status ended = stretto_wait(request);
  stretto_request_free(&request);
  return ended;
}

void print(const char* name, std::size_t bytes, const stretto_report& r) {
  std::printf(
      "{\"collective\": \"%s\", \"bytes\": %zu, \"algorithm\": \"%s\", \"payload\": \"%s\", "
      "\"coding\": %d, \"ratio\": %.17g, \"seconds\": %.17g}\n",
      name, bytes, r.algorithm, r.payload, static_cast<int>(r.coding), r.expected_ratio, r.predicted_seconds);
}

int run_by_c(Buffers* b, int rank, int ranks, double bound) {
  stretto_comm comm = nullptr;
  if (stretto_comm_create(MPI_COMM_WORLD, &comm) != STRETTO_OK) return 1;
  for (const char* name : kNames) {
    for (const std::size_t bytes : kSizes) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = STRETTO_OPTIONS_INIT;
      o.report = &report;
      o.bound_kind = bound > 0 ? STRETTO_BOUND_ABSOLUTE : STRETTO_BOUND_NONE;
      o.bound = bound;
      if (bytes <= 4096) o.check = 0;  // checked, the values would travel with the ranks' agreement
      if (by_c(name, b, bytes, ranks, comm, &o) != STRETTO_OK) {
        std::fprintf(stderr, "%s of %zu bytes: %s\n", name, bytes, stretto_message());
        return 1;
      }
      if (rank == 0) print(name, bytes, report);
    }
  }
  for (const std::size_t bytes : kSizes) {
    stretto_report report = STRETTO_REPORT_INIT;
    if (start_by_c(b, bytes, comm, &report) != STRETTO_OK) {
      std::fprintf(stderr, "iallreduce of %zu bytes: %s\n", bytes, stretto_message());
      return 1;
    }
    if (rank == 0) print("iallreduce", bytes, report);
  }
  return stretto_comm_free(comm) == STRETTO_OK ? 0 : 1;
}

// The profiling library leaves the first calls on a communicator to the MPI, and says so.
void run_by_mpi(Buffers* b, int ranks) {
  for (int i = 0; i < 100; ++i) by_mpi("bcast", b, 768, ranks);
  for (const char* name : kNames)
    for (const std::size_t bytes : kSizes) by_mpi(name, b, bytes, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "name") == 0) return std::puts(stretto::timing::mpi_version().c_str()) < 0;
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Buffers buffers = filled(rank);
  if (argc > 1 && std::strcmp(argv[1], "c") == 0)
    status = run_by_c(&buffers, rank, ranks, argc > 2 ? std::atof(argv[2]) : 0);
  else
    run_by_mpi(&buffers, ranks);
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
