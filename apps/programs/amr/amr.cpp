// A block-structured adaptive mesh around a moving sphere, in the manner of miniAMR. Steps of a 7-point stencil wait
// for an allreduce each. A refinement agrees by further allreduces and moves blocks by MPI_Alltoallv.
#include <mpi.h>

#include <cmath>
#include <numbers>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "mesh.hpp"
#include "program.hpp"

namespace stretto::programs {
namespace {

constexpr int kFinest = 1 << 20;  // blocks of the finest level along a side

struct Options {
  int roots = 4, levels = 2, cells = 8, variables = 4, steps = 200, every = 5;
  double radius = 0.25, speed = 0.01;
};

// It moves along a line, and the walls reflect it: where it touches them, or its centre if it is too large to fit.
Sphere sphere_at(const Options& options, int step) {
  constexpr std::array<double, 3> start{0.1, 0.2, 0.3}, way{0.62, 0.57, 0.54};
  const double margin = options.radius < 0.5 ? options.radius : 0, room = 1 - 2 * margin;
  Sphere sphere{{}, options.radius};
  for (std::size_t d = 0; d < 3; ++d) {
    const double at = std::fmod(start[d] * room + way[d] * options.speed * step, 2 * room);
    sphere.centre[d] = margin + (at > room ? 2 * room - at : at);
  }
  return sphere;
}

// 1 and a wave that the walls reflect, of a length of its own for each variable.
double value_at(int variable, const std::array<double, 3>& at) {
  double wave = 0.5;
  for (const double x : at) wave *= std::cos(std::numbers::pi * (1 + variable % 4) * x);
  return 1 + wave;
}

// A row for each phase, and for sums of phases.
struct Row {
  const char* name;
  std::vector<Phase> phases;
};
const std::vector<Row> kRows{{"step", {kStencil, kGhosts, kChange, kMarks, kRebuild, kBalance, kSums}},
                             {"refinement", {kMarks, kRebuild, kBalance}},
                             {"collectives", {kChange, kMarks, kBalance, kSums}},
                             {"stencil", {kStencil}},
                             {"ghosts", {kGhosts}},
                             {"change", {kChange}},
                             {"marks", {kMarks}},
                             {"rebuild", {kRebuild}},
                             {"balance", {kBalance}},
                             {"sums", {kSums}}};

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), mesh_(options.roots, options.levels, Shape(options.cells, options.variables)) {}

  // A refinement every so many steps, and after it the check that no sum has changed.
  void go(Report& report) {
    mesh_.refine(sphere_at(options_, 0));
    mesh_.fill(value_at);
    const std::vector<double> first = mesh_.sums();
    const int rounds = options_.steps / options_.every;
    levels_.push_back(mesh_.blocks_by_level());
    report.progress(0, rounds);
    for (int round = 0; round < rounds; ++round) {
      mesh_.uses() = {};
      const double start = MPI_Wtime();
      for (int step = 0; step < options_.every; ++step) change_ = mesh_.step();
      blocks_ += static_cast<double>(mesh_.blocks()) / rounds;
      share_ += static_cast<double>(mesh_.largest_share()) / rounds;
      mesh_.refine(sphere_at(options_, (round + 1) * options_.every));
      sums_ = mesh_.sums();
      seconds_.push_back((MPI_Wtime() - start) / options_.every);
      uses_.push_back(mesh_.uses());
      levels_.push_back(mesh_.blocks_by_level());
      check(first, (round + 1) * options_.every);
      report.progress(round + 1, rounds);
    }
  }

  void describe(Report& report) {
    const std::string bits = fmt::format("{:016x}", mesh_.checksum());
    for (const Row& row : kRows) {
      std::vector<double> seconds = averaged(each_round(row, &Use::seconds));
      if (row.phases.size() == kPhases) seconds = slowest(seconds_);
      const Timing times = timing(seconds);
      if (times.median == 0) continue;  // a phase that these ranks do without
      Json fields{{"phase", row.name}, {"cells", options_.cells}, {"variables", options_.variables}};
      fields.update(as_json(times));
      fields.update({{"calls", mean(averaged(each_round(row, &Use::calls)))},
                     {"bytes", mean(averaged(each_round(row, &Use::bytes)))},
                     {"blocks", blocks_},
                     {"largest_share", share_}});
      if (row.phases.size() == kPhases) {
        fields["mesh"] = {
            {"every", options_.every}, {"blocks", levels_}, {"change", change_}, {"sums", sums_}, {"checksum", bits}};
      }
      report.row(fields);
    }
  }

 private:
  // The stencil and each change of the mesh keep sums to rounding. An error at faces between levels is larger by far.
  void check(const std::vector<double>& first, int steps) const {
    for (std::size_t v = 0; v < first.size(); ++v) {
      if (std::abs(sums_[v] - first[v]) <= 1e-12 * (1 + steps)) continue;
      throw std::runtime_error(fmt::format("after {} steps the sum of variable {} is {:.17g}, and was {:.17g}", steps,
                                           v, sums_[v], first[v]));
    }
  }

  // Of one step in each round.
  std::vector<double> each_round(const Row& row, double Use::*field) const {
    std::vector<double> values;
    for (const Uses& uses : uses_) {
      double sum = 0;
      for (const Phase phase : row.phases) sum += uses[phase].*field;
      values.push_back(sum / options_.every);
    }
    return values;
  }
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  const Options& options_;
  Mesh mesh_;
  std::vector<std::vector<int>> levels_;  // blocks by level, at first and after each refinement
  std::vector<double> seconds_;           // of a step, refinement included, in each round
  std::vector<Uses> uses_;                // in each round
  std::vector<double> sums_;
  double change_ = 0, blocks_ = 0, share_ = 0;
};

void run(const Options& options, Report& report) {
  if (options.cells % 2 != 0)
    throw Refused(fmt::format("--cells {} is odd, and a block is cut in halves", options.cells));
  if (options.steps % options.every != 0) {
    throw Refused(fmt::format("--steps {} is no multiple of the {} steps between refinements, --every", options.steps,
                              options.every));
  }
  if (const std::int64_t finest = std::int64_t{options.roots} << options.levels; finest > kFinest) {
    throw Refused(fmt::format("--roots {} and --levels {} give {} of the finest blocks along a side; there may be {}",
                              options.roots, options.levels, finest, kFinest));
  }
  if (std::isnan(options.radius) || std::isnan(options.speed)) throw Refused("--radius and --speed cannot be nan");
  Run all(options);
  all.go(report);
  all.describe(report);
}

}  // namespace
}  // namespace stretto::programs

int main(int argc, char** argv) {
  using namespace stretto::programs;
  Options options;
  return program(
      argc, argv, "amr", "Steps of a stencil on an adaptive mesh of blocks, which refine around a moving sphere.",
      [&](CLI::App& app) {
        app.add_option("--roots", options.roots, "blocks along each side of the cube at level 0")
            ->check(CLI::Range(1, 1024));
        app.add_option("--levels", options.levels, "of refinement")->check(CLI::Range(0, 16));
        app.add_option("--cells", options.cells, "along each side of a block, an even number")
            ->check(CLI::Range(2, 128));
        app.add_option("--variables", options.variables, "values of a cell")->check(CLI::Range(1, 1000));
        app.add_option("--steps", options.steps, "a multiple of --every")->check(CLI::Range(1, 100000));
        app.add_option("--every", options.every, "steps from one refinement to the next")->check(CLI::Range(1, 100000));
        app.add_option("--radius", options.radius, "of the sphere, in sides of the cube")
            ->check(CLI::Range(0.001, 2.0));
        app.add_option("--speed", options.speed, "sides of the cube that the sphere moves in a step")
            ->check(CLI::Range(0.0, 1.0));
      },
      [&](Report& report) { run(options, report); });
}
