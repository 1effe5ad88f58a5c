// Collectives that move data of an unchanged program, exactly by the MPI's own functions (PMPI names) and within bounds
// by the profiling library, in turns. Started by bench/run_moves.py. Each bound has a communicator (info key
// stretto_bound). The data are a field of bench_hosts, of which gather, scatter, allgather and alltoall move a block
// for each rank.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "bench/mpi/fields.hpp"
#include "timing/mpi.hpp"

using namespace stretto::bench;
namespace timing = stretto::timing;

namespace {

struct Data {
  std::vector<float> in, out;
  int block = 0;  // elements for or from each rank; of a broadcast all
};

using Collective = void (*)(Data& d, MPI_Comm comm, bool own);

void bcast(Data& d, MPI_Comm comm, bool own) {
  (own ? PMPI_Bcast : MPI_Bcast)(d.out.data(), static_cast<int>(d.out.size()), MPI_FLOAT, 0, comm);
}
void allgather(Data& d, MPI_Comm comm, bool own) {
  (own ? PMPI_Allgather : MPI_Allgather)(d.in.data(), d.block, MPI_FLOAT, d.out.data(), d.block, MPI_FLOAT, comm);
}
void gather(Data& d, MPI_Comm comm, bool own) {
  (own ? PMPI_Gather : MPI_Gather)(d.in.data(), d.block, MPI_FLOAT, d.out.data(), d.block, MPI_FLOAT, 0, comm);
}
void scatter(Data& d, MPI_Comm comm, bool own) {
  (own ? PMPI_Scatter : MPI_Scatter)(d.in.data(), d.block, MPI_FLOAT, d.out.data(), d.block, MPI_FLOAT, 0, comm);
}
void alltoall(Data& d, MPI_Comm comm, bool own) {
  (own ? PMPI_Alltoall : MPI_Alltoall)(d.in.data(), d.block, MPI_FLOAT, d.out.data(), d.block, MPI_FLOAT, comm);
}

struct Case {
  const char* name;
  Collective run;
};

constexpr std::array<Case, 5> kCases = {
    {{"bcast", bcast}, {"allgather", allgather}, {"gather", gather}, {"scatter", scatter}, {"alltoall", alltoall}}};

// Milliseconds of the slowest rank, per call in a row of `calls`.
double once(const Case& c, Data& d, MPI_Comm comm, bool own, int calls) {
  d.out = d.in;  // what a broadcast sends
  PMPI_Barrier(MPI_COMM_WORLD);
  const double start = PMPI_Wtime();
  for (int k = 0; k < calls; ++k) c.run(d, comm, own);
  double ms = (PMPI_Wtime() - start) * 1e3 / calls;
  PMPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ms;
}

MPI_Comm bounded(const std::string& bound) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stretto_bound", ("rel:" + bound).c_str());
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

int run(int argc, char** argv, int rank) {
  CLI::App app("Collectives that move data, by the MPI and within bounds by the profiling library.");
  std::string json, directory, name = "gpt_grad_step10";
  std::vector<std::string> bounds{"1e-4", "1e-3", "1e-2"};
  std::uint64_t bytes = std::uint64_t{64} << 20U;
  int repeats = 5, calls = 1;
  std::vector<std::string> collectives;
  app.add_option("--json", json, "file to append rows to");
  app.add_option("--data", directory, "directory of real fields; a computed one takes the place of a missing one");
  app.add_option("--field", name, "marmousi_rtm or gpt_grad_step10");
  app.add_option("--bounds", bounds, "of the range of what all ranks send")->delimiter(',');
  app.add_option("--bytes", bytes, "of a broadcast, and of all blocks of a rank")->transform(CLI::AsSizeValue(false));
  app.add_option("--repeats", repeats, "turns of each")->check(CLI::Range(1, 1000));
  app.add_option("--calls", calls, "of a turn, in a row: short calls must not fit the burst of a shaped port")
      ->check(CLI::Range(1, 100000));
  app.add_option("--collectives", collectives, "default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"bcast", "allgather", "gather", "scatter", "alltoall"}));
  if (int code = 0; !stretto::parsed(app, argc, argv, rank == 0, &code)) return code;
  const char* const moves = std::getenv("STRETTO_BOUND_MOVES");
  if (moves == nullptr || std::string(moves) != "1") {
    if (rank == 0)
      fmt::print(stderr, "bench_moves: STRETTO_BOUND_MOVES=1 and the profiling library are needed (run_moves.py)\n");
    return 2;
  }
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Arrays arrays = field(name, directory, ranks, rank);
  Data d;
  d.block = static_cast<int>(bytes / sizeof(float) / static_cast<std::uint64_t>(ranks));
  d.in.resize(static_cast<std::size_t>(d.block) * static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < d.in.size(); ++i) d.in[i] = arrays.values[i % arrays.values.size()];
  std::vector<MPI_Comm> comms;
  for (const std::string& b : bounds) comms.push_back(bounded(b));
  timing::Writer writer(rank == 0 ? json : "");
  for (const Case& c : kCases) {
    if (!collectives.empty() && std::find(collectives.begin(), collectives.end(), c.name) == collectives.end())
      continue;
    std::vector<std::vector<double>> ms(1 + comms.size());
    std::vector<double> error(comms.size(), 0);
    for (int k = 0; k <= repeats; ++k) {
      const double own = once(c, d, MPI_COMM_WORLD, true, calls);
      if (k > 0) ms[0].push_back(own);
      const std::vector<float> exact = d.out;
      for (std::size_t b = 0; b < comms.size(); ++b) {
        const double ours = once(c, d, comms[b], false, calls);
        if (k > 0) ms[b + 1].push_back(ours);
        for (std::size_t i = 0; i < exact.size(); ++i)
          error[b] = std::max(error[b], std::fabs(static_cast<double>(d.out[i]) - exact[i]));
      }
    }
    for (std::size_t b = 0; b < comms.size(); ++b) {
      timing::Row row;
      row.bench = "moves";
      row.subject = fmt::format("{} {} ranks={} bytes={} bound={}", c.name, arrays.name, ranks, bytes, bounds[b]);
      row.metric = "milliseconds";
      row.value = timing::median(ms[b + 1]);
      row.unit = "ms";
      row.better = timing::Better::smaller;
      row.peer = timing::Peer{timing::mpi_version(), timing::median(ms[0])};
      row.fields["largest_error"] = timing::largest(MPI_COMM_WORLD, error[b]);
      if (rank == 0) writer.write(row);
    }
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_moves", run); }
