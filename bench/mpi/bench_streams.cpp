// bench_streams: an allreduce within a relative bound on one host: in shared memory as streams and as values, by the
// engine as streams, and the MPI's own. The four alternate; times are medians of the slowest rank's. Started under
// mpirun (run_streams.py); calls have check = 0, so the agreement is only about the range.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "stretto/stretto_mpi.h"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;

struct Options {
  std::string json;
  std::size_t smallest = std::size_t{64} << 10, largest = std::size_t{64} << 20;
  int repeats = 15;
  double bound = 1e-4;
};

void checked(stretto_status s) {
  if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
}

// Waves of several lengths, like a field in space, which differ between ranks.
std::vector<float> smooth(std::size_t n, int rank) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i);
    v[i] = static_cast<float>(std::sin(t / 4096 + rank) + 0.3 * std::sin(t / 700 + 2 * rank) + 0.05 * std::sin(t / 90));
  }
  return v;
}

struct Contestant {
  std::string name;
  std::function<void()> run;
  stretto_report* report = nullptr;
  std::vector<double> ms{};
};

class Bench {
 public:
  explicit Bench(const Options& o) : o_(o) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    x_ = smooth(o.largest / sizeof(float), rank_);
    y_.resize(x_.size());
    checked(stretto_comm_create(MPI_COMM_WORLD, &node_));
    setenv("STRETTO_NODE", "0", 1);
    checked(stretto_comm_create(MPI_COMM_WORLD, &engine_));
    unsetenv("STRETTO_NODE");
  }
  ~Bench() {
    static_cast<void>(stretto_comm_free(engine_));
    static_cast<void>(stretto_comm_free(node_));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(timing::Writer* rows) {
    for (std::size_t bytes = o_.smallest; bytes <= o_.largest; bytes *= 4) size(bytes, rows);
  }

 private:
  stretto_options options(const char* schedule, stretto_report* report) const {
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.check = 0;
    o.schedule = schedule;
    o.report = report;
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    o.bound = o_.bound;
    o.payload = STRETTO_PAYLOAD_FUSED;
    return o;
  }

  void size(std::size_t bytes, timing::Writer* rows) {
    const std::size_t n = bytes / sizeof(float);
    const auto ours = [this, n](stretto_comm comm, stretto_options o) {
      return [this, n, comm, o] {
        checked(stretto_allreduce(x_.data(), y_.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      };
    };
    stretto_report node = STRETTO_REPORT_INIT, raw = node, engine = node;
    stretto_options exact = STRETTO_OPTIONS_INIT;
    exact.check = 0;
    exact.schedule = "node";
    exact.report = &raw;
    std::vector<Contestant> all{
        {"MPI " + timing::mpi_version(),
         [this, n] { MPI_Allreduce(x_.data(), y_.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
        {"node raw", ours(node_, exact), &raw},
        {"node fused", ours(node_, options("node", &node)), &node},
        {"engine fused", ours(engine_, options(nullptr, &engine)), &engine}};
    for (int k = -1; k < o_.repeats; ++k) {  // the first round is uncounted
      for (Contestant& c : all) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        c.run();
        const double ms = timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - begun) * 1e3);
        if (k >= 0) c.ms.push_back(ms);
      }
    }
    if (rank_ != 0) return;
    const double own = timing::median(all[0].ms);
    for (std::size_t i = 1; i < all.size(); ++i) {
      timing::Row row{.bench = "streams",
                      .subject = fmt::format("allreduce {} KiB, {} ranks, rel:{:g}, {}", bytes >> 10, ranks_, o_.bound,
                                             all[i].name),
                      .metric = "ms",
                      .value = timing::median(all[i].ms),
                      .unit = "ms",
                      .better = timing::Better::smaller,
                      .peer = timing::Peer{all[0].name, own}};
      row.fields["algorithm"] = all[i].report->algorithm;
      row.fields["shrunk_by"] = all[i].report->ratio;
      row.fields["codec_ms"] = all[i].report->codec_seconds * 1e3;
      rows->write(row);
    }
  }

  const Options& o_;
  int rank_ = 0, ranks_ = 1;
  stretto_comm node_ = nullptr, engine_ = nullptr;
  std::vector<float> x_, y_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"Streams inside a host beside values and beside the MPI; run it under mpirun"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", o.json, "append rows to this file");
  app.add_option("--smallest", o.smallest, "bytes; four times as many each, up to --largest");
  app.add_option("--largest", o.largest, "bytes");
  app.add_option("--repeats", o.repeats, "rounds; the median counts")->check(CLI::Range(1, 100000));
  app.add_option("--bound", o.bound, "relative to the range");
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(o.json);
  Bench(o).run(rows.get());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_streams", run); }
