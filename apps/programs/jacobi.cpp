// Jacobi's method for Poisson's equation in three dimensions: each sweep replaces every point by the mean of its six
// neighbours and the source, after an exchange of the blocks' outermost points. The source belongs to one sine wave
// over the box, so the solution is known.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bounded_halo.hpp"
#include "program.hpp"
#include "reduction.hpp"
#include "sweep.hpp"

namespace stretto::programs {
namespace {

enum class HaloKind : std::uint8_t { blocking, overlapped, bounded };

struct Options {
  int side = 128;
  std::vector<int> points;  // of the whole box; empty: a cube of `side`
  bool weak = false;        // `side` is of each rank's block
  int dimensions = 3;
  std::vector<std::string> grids;  // process grids, a run each; empty: MPI_Dims_create's in `dimensions`
  std::string type = "f64";
  HaloKind halo = HaloKind::overlapped;
  double bound = 0;
  ReductionKind reduction = ReductionKind::blocking;
  int sweeps = 100, check = 10;
  double tolerance = 0;
};

const std::map<std::string, HaloKind> kHalos{
    {"blocking", HaloKind::blocking}, {"overlapped", HaloKind::overlapped}, {"bounded", HaloKind::bounded}};
const std::map<std::string, ReductionKind> kReductions{
    {"blocking", ReductionKind::blocking}, {"started", ReductionKind::started}, {"stretto", ReductionKind::stretto}};

template <class Kind>
std::string name(const std::map<std::string, Kind>& names, Kind kind) {
  return std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.second == kind; })->first;
}

Three points_of(const Options& options, const Three& dims) {
  if (!options.points.empty()) return {options.points[0], options.points[1], options.points[2]};
  Three points{options.side, options.side, options.side};
  for (std::size_t d = 0; d < 3 && options.weak; ++d) points[d] *= dims[d];
  return points;
}

// The points of a block that need no neighbours' points, and the boxes of the others.
Box interior(const Block& block, const Three& dims) {
  Box box{{}, block.count};
  for (std::size_t d = 0; d < 3; ++d) {
    if (dims[d] == 1) continue;
    box.from[d] = 1;
    box.to[d] = block.count[d] - 1;
  }
  return box;
}

std::vector<Box> shell(const Block& block, const Box& inside) {
  std::vector<Box> boxes;
  Box rest{{}, block.count};
  for (std::size_t d = 0; d < 3; ++d) {
    const int low = std::min(inside.from[d], rest.to[d]), high = std::max(inside.to[d], low);
    Box before = rest, after = rest;
    before.to[d] = low;
    after.from[d] = high;
    boxes.push_back(before);
    boxes.push_back(after);
    rest.from[d] = low;
    rest.to[d] = high;
  }
  return boxes;
}

// Seconds of each sweep by purpose; those of reductions include the wait.
struct Times {
  std::vector<double> whole, compute, halo, reduction;
};

template <class T>
class Solver {
 public:
  Solver(const Options& options, const Grid& grid)
      : options_(options),
        grid_(grid),
        block_(grid.block()),
        inside_(interior(block_, grid.dims())),
        shell_(shell(block_, inside_)),
        halo_(grid, kElement),
        reduction_(options.reduction),
        in_(block_.storage()),
        out_(block_.storage()),
        source_(block_.storage()) {
    if (options.halo == HaloKind::bounded) bounded_.emplace(grid, halo_, kType, options.bound);
  }

  // Seconds of a sweep and of a triad over as many points, alternating, on all ranks at once.
  std::array<Timing, 2> against_triad() {
    std::vector<double> sweeps, triads;
    const Box all{{}, block_.count};
    for (int i = 0; i < 8; ++i) {
      double start = MPI_Wtime();
      sweep(block_, all, in_.data(), source_.data(), out_.data());
      const double swept = MPI_Wtime() - start;
      start = MPI_Wtime();
      triad(block_.points(), in_.data(), source_.data(), out_.data());
      if (i == 0) continue;  // skips the first, with cold pages and caches
      sweeps.push_back(swept);
      triads.push_back(MPI_Wtime() - start);
    }
    return {timing(slowest(sweeps)), timing(slowest(triads))};
  }

  void solve(Report& report) {
    set_up();
    times_ = {};
    converged_ = false;
    for (swept_ = 1; swept_ <= options_.sweeps; ++swept_) {
      if (one_sweep() || swept_ == options_.sweeps) break;
      if (swept_ % std::max(options_.sweeps / 10, 1) == 0) report.progress(swept_, options_.sweeps);
    }
    if (const auto last = reduction_.finish()) change_ = *last;  // waits for the last reduction
    report.progress(options_.sweeps, options_.sweeps);
  }

  void describe(Json* row) {
    const double millions_of_points =
        1e-6 * static_cast<double>(grid_.points()[0]) * grid_.points()[1] * grid_.points()[2];
    const Timing whole = timing(slowest(times_.whole));
    row->update({{"sweeps", swept_},
                 {"converged", converged_},
                 {"change", change_},
                 {"error", error()},
                 {"checksum", checksum()}});
    row->update(as_json(whole));
    (*row)["compute"] = timing(averaged(times_.compute)).median;
    (*row)["halo_time"] = timing(averaged(times_.halo)).median;
    (*row)["reduction_time"] = timing(averaged(times_.reduction)).median;
    (*row)["mlups"] = millions_of_points / whole.median;
    std::vector<double> bytes{static_cast<double>(halo_.points() * sizeof(T)), bounded_ ? bounded_->bytes() : 0};
    bytes = slowest(bytes);
    (*row)["halo_bytes"] = bytes[0];
    (*row)["sent_bytes"] = bounded_ ? bytes[1] : bytes[0];
  }

 private:
  static constexpr bool kSingle = sizeof(T) == 4;
  static constexpr stretto_type kType = kSingle ? STRETTO_F32 : STRETTO_F64;
  inline static const MPI_Datatype kElement = kSingle ? MPI_FLOAT : MPI_DOUBLE;

  // The wave along a direction: sin(pi (i + 1) / (n + 1)), and 0 at both ends of the box.
  std::vector<double> wave(int direction) const {
    const Part part = grid_.part(direction);
    const double step = std::numbers::pi / (grid_.points()[static_cast<std::size_t>(direction)] + 1);
    std::vector<double> values;
    for (int i = 0; i < part.count; ++i) values.push_back(std::sin(step * (part.first + i + 1)));
    return values;
  }

  // Calls take(index in the fields, solution, number of the point, independent of the blocks).
  template <class Take>
  void each_point(const Take& take) const {
    const std::vector<double> z = wave(0), y = wave(1), x = wave(2);
    const Three first{grid_.part(0).first, grid_.part(1).first, grid_.part(2).first}, all = grid_.points();
    for (int k = 0; k < block_.count[0]; ++k) {
      for (int j = 0; j < block_.count[1]; ++j) {
        const std::uint64_t line = static_cast<std::uint64_t>(first[0] + k) * static_cast<std::uint64_t>(all[1]) +
                                   static_cast<std::uint64_t>(first[1] + j);
        for (int i = 0; i < block_.count[2]; ++i) {
          take(block_.at(k, j, i),
               z[static_cast<std::size_t>(k)] * y[static_cast<std::size_t>(j)] * x[static_cast<std::size_t>(i)],
               line * static_cast<std::uint64_t>(all[2]) + static_cast<std::uint64_t>(first[2] + i));
        }
      }
    }
  }

  // -laplace(u) = f for the wave, with points a unit apart.
  void set_up() {
    double factor = 0;
    for (const int n : grid_.points()) factor += std::pow(std::numbers::pi / (n + 1), 2);
    std::fill(in_.begin(), in_.end(), T(0));
    std::fill(out_.begin(), out_.end(), T(0));
    each_point(
        [&](std::size_t at, double solution, std::uint64_t) { source_[at] = static_cast<T>(factor * solution); });
  }

  double swept(const Box& box, bool measures) {
    if (measures) return sweep_measuring(block_, box, in_.data(), source_.data(), out_.data());
    sweep(block_, box, in_.data(), source_.data(), out_.data());
    return 0;
  }

  // One sweep. True if the method has converged: the largest change is below the tolerance on all ranks. A started
  // reduction is waited for after the next sweep.
  bool one_sweep() {
    const bool measures = swept_ % options_.check == 0;
    double largest = 0;
    const double start = MPI_Wtime();
    if (options_.halo == HaloKind::blocking) {
      halo_.exchange(in_.data());
    } else if (options_.halo == HaloKind::overlapped) {
      halo_.start(in_.data());
    } else {
      bounded_->start(in_.data());
    }
    const double started = MPI_Wtime();
    double waited = started, ready = started;
    if (options_.halo == HaloKind::blocking) {
      largest = swept({{}, block_.count}, measures);
    } else {
      largest = swept(inside_, measures);
      waited = MPI_Wtime();
      options_.halo == HaloKind::overlapped ? halo_.finish() : bounded_->finish(in_.data());
      ready = MPI_Wtime();
      for (const Box& box : shell_) largest = std::max(largest, swept(box, measures));
    }
    const double computed = MPI_Wtime();
    std::optional<double> known;
    if (!reduction_.blocks()) known = reduction_.finish();
    if (measures) reduction_.start(largest);
    if (reduction_.blocks()) known = reduction_.finish();
    const double end = MPI_Wtime();
    std::swap(in_, out_);
    times_.whole.push_back(end - start);
    times_.halo.push_back(started - start + ready - waited);
    times_.compute.push_back(waited - started + computed - ready);
    if (measures) {
      times_.reduction.push_back(end - computed);
    } else if (known) {
      times_.reduction.back() += end - computed;
    }
    if (known) change_ = *known;
    converged_ = known && *known < options_.tolerance;
    return converged_;
  }

  // The largest distance to the solution of the equation.
  double error() const {
    double mine = 0, all = 0;
    each_point([&](std::size_t at, double solution, std::uint64_t) {
      mine = std::max(mine, std::abs(static_cast<double>(in_[at]) - solution));
    });
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }

  // Checksum over all bits of the field, equal for every number of ranks.
  std::string checksum() const {
    std::uint64_t mine = 0, all = 0;
    each_point([&](std::size_t at, double, std::uint64_t point) {
      mine += std::bit_cast<std::uint64_t>(static_cast<double>(in_[at])) * (2 * point + 1);
    });
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return fmt::format("{:016x}", all);
  }

  const Options& options_;
  const Grid& grid_;
  Block block_;
  Box inside_;
  std::vector<Box> shell_;
  Halo halo_;
  std::optional<BoundedHalo> bounded_;
  Reduction reduction_;
  std::vector<T> in_, out_, source_;
  Times times_;
  int swept_ = 0;
  bool converged_ = false;
  double change_ = 0;
};

template <class T>
void run_as(const Options& options, const Grid& grid, Report& report) {
  check_memory(3.0 * static_cast<double>(grid.block().storage() * sizeof(T)),
               fmt::format("a box of {} points", words(grid.points())));
  Solver<T> solver(options, grid);
  const auto [sweep, triad] = solver.against_triad();
  solver.solve(report);
  Json row{{"points", grid.points()}, {"dims", grid.dims()},
           {"type", options.type},    {"halo", name(kHalos, options.halo)},
           {"bound", options.bound},  {"reduction", name(kReductions, options.reduction)}};
  solver.describe(&row);
  row.update({{"sweep", sweep.median}, {"triad", triad.median}, {"of_triad", triad.median / sweep.median}});
  report.row(row);
}

void run(const Options& options, Report& report) {
  if (options.halo == HaloKind::bounded && !(options.bound > 0 && std::isfinite(options.bound))) {
    throw Refused(fmt::format("a halo within a bound needs one: --bound {} is not positive", options.bound));
  }
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<Three> all;
  for (const std::string& text : options.grids) all.push_back(given_grid(text, ranks));
  if (all.empty()) all.push_back(process_grid(ranks, options.dimensions));
  for (const Three& dims : all) {
    const Grid grid(points_of(options, dims), dims, false);
    options.type == "f32" ? run_as<float>(options, grid, report) : run_as<double>(options, grid, report);
  }
}

}  // namespace
}  // namespace stretto::programs

int main(int argc, char** argv) {
  using namespace stretto::programs;
  Options options;
  return program(
      argc, argv, "jacobi", "Solves Poisson's equation in a box by Jacobi's method.",
      [&](CLI::App& app) {
        const auto side = CLI::Range(1, 20000);
        app.add_option("--side", options.side, "points along each side of the box")->check(side);
        app.add_option("--points", options.points,
                       "of the box instead, such as 40,30,20; points of the last direction lie side by side")
            ->delimiter(',')
            ->expected(3)
            ->check(side);
        app.add_flag("--weak", options.weak, "--side is of each rank's block");
        app.add_option("--dimensions", options.dimensions, "in which the box is cut")->check(CLI::Range(1, 3));
        app.add_option("--grid", options.grids, "grids of processes instead, such as 8x3x1,4x6x1: a run each")
            ->delimiter(',');
        app.add_option("--type", options.type, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}));
        app.add_option("--halo", options.halo, "blocking, overlapped, or bounded: compressed within --bound")
            ->transform(CLI::CheckedTransformer(kHalos));
        app.add_option("--bound", options.bound, "largest error of a value of a bounded halo");
        app.add_option("--reduction", options.reduction,
                       "blocking, started (MPI_Iallreduce) or stretto (stretto_iallreduce)")
            ->transform(CLI::CheckedTransformer(kReductions));
        app.add_option("--sweeps", options.sweeps, "at most")->check(CLI::Range(1, 100000000));
        app.add_option("--check", options.check, "sweeps from one reduction to the next")
            ->check(CLI::Range(1, 100000000));
        app.add_option("--tolerance", options.tolerance,
                       "ends where no point changed by more in a sweep; 0: after all sweeps")
            ->check(CLI::NonNegativeNumber);
      },
      [&](Report& report) { run(options, report); });
}
