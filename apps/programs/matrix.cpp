// Two matrices, or volumes, are divided over a process grid, scattered from rank 0, added, and gathered. Without
// exchange between neighbours, the grid's shape does not matter; with an exchange after the sum it does.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "grid.hpp"
#include "halo.hpp"
#include "program.hpp"

namespace stretto::programs {
namespace {

struct Options {
  std::vector<int> points{256, 256, 256};
  std::vector<std::string> grids;  // process grids; empty: MPI_Dims_create's in each number of dimensions
  bool weak = false;               // `points` are of each rank's block
  int repeats = 5;
};

using Values = std::vector<double>;

// A subarray type: a block of rank 0's array, or a block's array without its layer.
MPI_Datatype subarray(const Three& sizes, const Three& counts, const Three& starts) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

class Sum {
 public:
  explicit Sum(const Grid& grid) : grid_(grid), block_(grid.block()) {
    const Three& n = block_.count;
    inner_ = subarray({n[0] + 2, n[1] + 2, n[2] + 2}, n, {1, 1, 1});
    for (int rank = 0; grid.rank() == 0 && rank < size_of(grid.comm()); ++rank) {
      Three counts{}, starts{};
      for (int d = 0; d < 3; ++d) {
        const Part part = grid.part_of(rank, d);
        counts[static_cast<std::size_t>(d)] = part.count;
        starts[static_cast<std::size_t>(d)] = part.first;
      }
      blocks_.push_back(subarray(grid.points(), counts, starts));
    }
    for (Values* values : {&a_, &b_, &c_}) values->resize(block_.storage());
    if (grid.rank() != 0) return;
    const std::size_t all = Block{grid.points()}.points();
    for (Values* values : {&whole_a_, &whole_b_, &whole_c_}) values->resize(all);
    for (std::size_t i = 0; i < all; ++i) {
      whole_a_[i] = static_cast<double>(i);
      whole_b_[i] = static_cast<double>(i % 1000) / 8;  // so that sums are exact
    }
  }
  ~Sum() {
    MPI_Type_free(&inner_);
    for (MPI_Datatype& type : blocks_) MPI_Type_free(&type);
  }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  void scatter() {
    std::vector<MPI_Request> requests(2);
    MPI_Irecv(a_.data(), 1, inner_, 0, 0, grid_.comm(), &requests[0]);
    MPI_Irecv(b_.data(), 1, inner_, 0, 1, grid_.comm(), &requests[1]);
    for (int rank = 0; rank < static_cast<int>(blocks_.size()); ++rank) {
      for (int tag = 0; tag < 2; ++tag) {
        requests.emplace_back();
        MPI_Isend(tag == 0 ? whole_a_.data() : whole_b_.data(), 1, blocks_[static_cast<std::size_t>(rank)], rank, tag,
                  grid_.comm(), &requests.back());
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  void add() {
    for (std::size_t i = 0; i < c_.size(); ++i) c_[i] = a_[i] + b_[i];
  }

  void gather() {
    std::vector<MPI_Request> requests(1);
    MPI_Isend(c_.data(), 1, inner_, 0, 2, grid_.comm(), &requests[0]);
    for (int rank = 0; rank < static_cast<int>(blocks_.size()); ++rank) {
      requests.emplace_back();
      MPI_Irecv(whole_c_.data(), 1, blocks_[static_cast<std::size_t>(rank)], rank, 2, grid_.comm(), &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  double* field() { return c_.data(); }

  // Throws if rank 0's sum is wrong; other ranks check nothing.
  void check() const {
    for (std::size_t i = 0; i < whole_c_.size(); ++i) {
      if (whole_c_[i] != whole_a_[i] + whole_b_[i]) {
        throw std::runtime_error(
            fmt::format("value {} of the sum is {} instead of {}", i, whole_c_[i], whole_a_[i] + whole_b_[i]));
      }
    }
  }

 private:
  const Grid& grid_;
  Block block_;
  MPI_Datatype inner_ = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> blocks_;    // by rank, on rank 0
  Values a_, b_, c_;                    // this rank's blocks, each with a layer around it
  Values whole_a_, whole_b_, whole_c_;  // on rank 0
};

// The last divided direction, counted from 1.
int dimensions_of(const Three& dims) {
  int last = 1;
  for (int d = 2; d <= 3; ++d)
    if (dims[static_cast<std::size_t>(d - 1)] > 1) last = d;
  return last;
}

void run_grid(const Options& options, int dimensions, const Three& dims, Report& report) {
  Three points{options.points[0], options.points[1], options.points.size() > 2 ? options.points[2] : 1};
  for (std::size_t d = 0; d < 3 && options.weak; ++d) points[d] *= dims[d];
  const Grid grid(points, dims, true);  // periodic, so that every rank has all neighbours
  const double whole = grid.rank() == 0 ? 3.0 * 8 * static_cast<double>(Block{points}.points()) : 0;
  check_memory(whole + 3.0 * 8 * static_cast<double>(grid.block().storage()),
               fmt::format("a sum of {} points", words(points)));
  Sum sum(grid);
  Halo halo(grid, MPI_DOUBLE);
  const Timing scatter = measure(options.repeats, [&] { sum.scatter(); });
  const Timing add = measure(options.repeats, [&] { sum.add(); });
  const Timing gather = measure(options.repeats, [&] { sum.gather(); });
  sum.check();
  const Timing exchange = measure(options.repeats, [&] {
    halo.start(sum.field());
    halo.finish();
  });
  const std::vector<double> bytes = slowest({8.0 * static_cast<double>(halo.points())});
  report.row({{"dimensions", dimensions},
              {"points", points},
              {"dims", grid.dims()},
              {"seconds", scatter.median + add.median + gather.median},
              {"low", scatter.low + add.low + gather.low},
              {"high", scatter.high + add.high + gather.high},
              {"samples", options.repeats},
              {"scatter", scatter.median},
              {"add", add.median},
              {"gather", gather.median},
              {"exchange", exchange.median},
              {"exchange_bytes", bytes[0]}});
}

void run(const Options& options, Report& report) {
  const int ranks = size_of(MPI_COMM_WORLD), sides = static_cast<int>(options.points.size());
  std::vector<std::pair<int, Three>> grids;  // with their dimensions
  for (const std::string& text : options.grids) {
    const Three dims = given_grid(text, ranks);
    grids.emplace_back(dimensions_of(dims), dims);
  }
  for (int d = 1; options.grids.empty() && d <= sides; ++d) grids.emplace_back(d, process_grid(ranks, d));
  const int most = static_cast<int>(grids.size());
  for (int done = 0; done < most; ++done) {
    report.progress(done, most);
    const auto& [dimensions, dims] = grids[static_cast<std::size_t>(done)];
    run_grid(options, dimensions, dims, report);
  }
  report.progress(most, most);
}

}  // namespace
}  // namespace stretto::programs

int main(int argc, char** argv) {
  using namespace stretto::programs;
  Options options;
  return program(
      argc, argv, "matrix", "Adds two matrices that are scattered over grids of 1, 2 and 3 dimensions.",
      [&](CLI::App& app) {
        app.add_option("--points", options.points, "rows,columns of a matrix, or the three sides of a volume")
            ->delimiter(',')
            ->expected(2, 3)
            ->check(CLI::Range(1, 1000000));
        app.add_option("--grid", options.grids,
                       "grids of processes, such as 8x3x1,4x6; without it of 1, 2 and 3 dimensions")
            ->delimiter(',');
        app.add_flag("--weak", options.weak, "--points are of each rank's block");
        app.add_option("--repeats", options.repeats, "runs that are timed")->check(CLI::Range(1, 10000));
      },
      [&](Report& report) { run(options, report); });
}
