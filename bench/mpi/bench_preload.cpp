// Collectives of a program under the profiling library (bench/run_preload.py), against the MPI's own by their PMPI
// names: the overhead on a short call, and the gain on a long one. The two alternate, with buffers rewritten before
// each; a second entry of the MPI's own shows the resolution. Besides single collectives, patterns of programs: rows
// and columns of a grid, BLACS's types and operations, communicators that live for ten or a hundred calls, and calls of
// different shapes.
#include <CLI/CLI.hpp>
#include <array>
#include <vector>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "timing/mpi.hpp"

namespace timing = stretto::timing;

namespace {

using Collective = void (*)(double* x, double* y, int n, bool own);

struct Case {
  const char* name;
  Collective run;
};

void allreduce(double* x, double* y, int n, bool own) {
  (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
void bcast(double* x, double*, int n, bool own) { (own ? PMPI_Bcast : MPI_Bcast)(x, n, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
// Rows and columns of a grid of ranks, as square as possible.
struct Grid {
  MPI_Comm row = MPI_COMM_NULL, column = MPI_COMM_NULL;

  Grid() {
    int rank = 0, dims[2] = {0, 0}, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Comm_split(MPI_COMM_WORLD, rank / dims[1], rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % dims[1], rank, &column);
  }
};

void grid(double* x, double* y, int n, bool own) {
  static const Grid g;
  (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, n, MPI_DOUBLE, MPI_SUM, g.row);
  (own ? PMPI_Bcast : MPI_Bcast)(x, n, MPI_DOUBLE, 0, g.column);
}

template <int calls>
void short_lived(double* x, double* y, int n, bool own) {
  MPI_Comm made = MPI_COMM_NULL;
  (own ? PMPI_Comm_dup : MPI_Comm_dup)(MPI_COMM_WORLD, &made);
  for (int k = 0; k < calls; ++k) (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, n, MPI_DOUBLE, MPI_SUM, made);
  (own ? PMPI_Comm_free : MPI_Comm_free)(&made);
}

// `n` is the length of the longest vector.
void alternating(double* x, double* y, int n, bool own) {
  (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  (own ? PMPI_Bcast : MPI_Bcast)(x, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  (own ? PMPI_Reduce : MPI_Reduce)(x, y, n / 64, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, n / 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  (own ? PMPI_Barrier : MPI_Barrier)(MPI_COMM_WORLD);
}

// As BLACS does: a type for each broadcast, and an operation for each timing::largest magnitude.
void column(double* x, double*, int n, bool own) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(1, n, n, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  (own ? PMPI_Bcast : MPI_Bcast)(x, 1, type, 0, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

void add(void* in, void* sum, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<double*>(sum)[i] += static_cast<double*>(in)[i];
}

void own_operation(double* x, double* y, int n, bool own) {
  static const MPI_Op op = [] {
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(add, 1, &made);
    return made;
  }();
  (own ? PMPI_Allreduce : MPI_Allreduce)(x, y, n, MPI_DOUBLE, op, MPI_COMM_WORLD);
}

void barrier(double*, double*, int, bool own) { (own ? PMPI_Barrier : MPI_Barrier)(MPI_COMM_WORLD); }

// Seconds of one call: the slowest rank's mean over `batch` calls.
double once(const Case& c, std::vector<double>& x, std::vector<double>& y, int batch, bool own) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 17) + y[i] * 1e-9;
  PMPI_Barrier(MPI_COMM_WORLD);
  const double start = PMPI_Wtime();
  for (int k = 0; k < batch; ++k) c.run(x.data(), y.data(), static_cast<int>(x.size()), own);
  double seconds = (PMPI_Wtime() - start) / batch;
  PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

timing::Row measure(const Case& c, std::size_t bytes, int repeats, int ranks) {
  std::vector<double> x(bytes / sizeof(double)), y(x.size());
  const int batch = bytes <= 1024 ? 200 : 1;
  std::array<std::vector<double>, 3> seconds;  // with the library; the MPI's own; the MPI's own again
  // The first calls of a communicator, before stretto makes its own for it.
  for (int k = 0; k < (bytes <= 65536 ? 400 : 60); ++k) once(c, x, y, 1, false);
  for (int k = 0; k < repeats; ++k)
    for (int turn = 0; turn < 3; ++turn) {
      const auto who = static_cast<std::size_t>((k + turn) % 3);  // each comes first equally often
      seconds[who].push_back(once(c, x, y, batch, who > 0));
    }
  timing::Row row;
  row.bench = "preload";
  row.subject = fmt::format("{} ranks={} bytes={}", c.name, ranks, bytes);
  row.metric = "microseconds";
  row.value = timing::median(seconds[0]) * 1e6;
  row.unit = "us";
  row.better = timing::Better::smaller;
  row.peer = timing::Peer{timing::mpi_version(), timing::median(seconds[1]) * 1e6};
  row.fields["bytes"] = bytes;
  row.fields["control"] = timing::median(seconds[2]) * 1e6;
  return row;
}

int run(int argc, char** argv, int rank) {
  CLI::App app("Collectives with the profiling library preloaded, beside the MPI's own.");
  std::string json;
  int repeats = 41;
  std::size_t largest = 16 << 20;
  app.add_option("--json", json, "file to append rows to");
  app.add_option("--repeats", repeats, "turns of each")->check(CLI::Range(1, 100000));
  app.add_option("--largest", largest, "bytes of the longest vector");
  if (int code = 0; !stretto::parsed(app, argc, argv, rank == 0, &code)) return code;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<timing::Row> rows{measure({"barrier", barrier}, 0, repeats, ranks)};
  for (const Case& c : {Case{"allreduce", allreduce}, Case{"bcast", bcast}})
    for (const std::size_t bytes : {8u, 1024u, 65536u, 1u << 20, 16u << 20})
      if (bytes <= largest) rows.push_back(measure(c, bytes, repeats, ranks));
  for (const std::size_t bytes : {8u, 1024u, 65536u}) rows.push_back(measure({"grid", grid}, bytes, repeats, ranks));
  for (const Case& c : {Case{"column", column}, Case{"own_operation", own_operation}})
    for (const std::size_t bytes : {8u, 256u}) rows.push_back(measure(c, bytes, repeats, ranks));
  // 10 calls, all served by the MPI; and 100, among which the library makes its own communicator.
  rows.push_back(measure({"short_lived", short_lived<10>}, 8, repeats, ranks));
  rows.push_back(measure({"short_lived_100", short_lived<100>}, 8, repeats, ranks));
  rows.push_back(measure({"alternating", alternating}, 65536, repeats, ranks));
  if (rank == 0) {
    timing::Writer writer(json);
    for (const timing::Row& r : rows) writer.write(r);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_preload", run); }
