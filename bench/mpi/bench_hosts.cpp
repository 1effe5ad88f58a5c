// bench_hosts: allreduce, or other collectives, of float32 fields by the MPI and by stretto, with every payload and
// schedule, alternating in one run. Started under mpirun, on several hosts by run_hosts.py. Each rank's contribution is
// the sum of its share of a field's arrays (12 images, 8 gradients), tiled to 64 MB. Collectives with a block for each
// rank cut that vector into blocks. Bounds are relative to the range over all contributions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "bench/mpi/fields.hpp"
#include "stack/images.hpp"
#include "stack/quality.hpp"
#include "stretto/stretto_mpi.h"
#include "timing/mpi.hpp"

namespace {

using namespace stretto;
using stacking::Problem;

struct Options {
  std::string data, json, rate = "local";
  std::vector<std::string> fields{"marmousi_rtm", "gpt_grad_step10"};
  std::vector<std::string> collectives{"allreduce"};
  std::vector<std::string> schedules{"ring", "recursive_doubling", "rabenseifner"};  // auto: as chosen
  std::vector<std::string> payloads{"raw", "cprp2p", "recompress", "homomorphic", "fused"};
  std::vector<std::string> bounds{"1e-4", "1e-3"};
  std::vector<std::uint64_t> segments{0};  // 0: automatic
  std::uint64_t bytes = std::uint64_t{64} << 20U;
  double gbps = 0;
  int hosts = 0;  // 0: one per rank
  int repeats = 5;
  bool alone = false;  // no turns of the MPI
};

// A payload is given as "fused", or with a coding as "fused:dense".
stretto_coding coding_of(const std::string& payload) {
  if (payload.ends_with(":dense")) return STRETTO_CODING_DENSE;
  if (payload.ends_with(":fixed")) return STRETTO_CODING_FIXED;
  return STRETTO_CODING_AUTO;
}

stretto_payload payload_of(const std::string& given) {
  const std::string name = given.substr(0, given.find(':'));
  for (int i = STRETTO_PAYLOAD_AUTO; const char* known = stretto_payload_name(static_cast<stretto_payload>(i)); ++i)
    if (name == known) return static_cast<stretto_payload>(i);
  throw Problem(fmt::format("there is no payload \"{}\"", name));
}

bool keeps_bounds(const std::string& payload) { return payload != "raw" && payload != "bfloat16"; }

void require(stretto_status s, const std::string& doing) {
  if (s != STRETTO_OK) throw Problem(fmt::format("{}: {}: {}", doing, stretto_status_name(s), stretto_message()));
}

// One rank's contribution of a field, and facts about all.
struct Contribution {
  std::string name;
  std::vector<float> values;  // tiled
  std::size_t period = 0;     // period of the tiled values
  double range = 0;           // over all ranks
  stacking::Reference sum;    // of all ranks, over one period, on every rank
};

// A contestant, and its times.
struct Way {
  std::string payload, schedule, bound;  // empty payload: the MPI
  std::uint64_t segment = 0;
  std::vector<double> ms{}, codec{}, agree{};  // slowest rank
  stretto_report report = STRETTO_REPORT_INIT;
  double worst = 0;  // error
};

class Bench {
 public:
  Bench(const Options& o, timing::Writer* rows) : o_(o), rows_(rows) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    require(stretto_comm_create(MPI_COMM_WORLD, &comm_), "making the communicator");
  }
  ~Bench() { static_cast<void>(stretto_comm_free(comm_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void field(const std::string& name) {
    Contribution c = contribution(name);
    result_.assign(c.values.size(), 0.0F);
    for (const std::string& collective : o_.collectives) {
      collective_ = collective;
      block_ = c.values.size() / static_cast<std::size_t>(ranks_);
      all_ways(c);
    }
  }

 private:
  void all_ways(const Contribution& c) {
    std::vector<Way> ways(1);
    for (const std::string& payload : o_.payloads) {
      for (const std::string& schedule : o_.schedules) {
        if (!fits(payload, schedule)) continue;
        for (const std::string& bound :
             keeps_bounds(payload) ? o_.bounds : std::vector<std::string>{o_.bounds.front()}) {
          for (const std::uint64_t segment : o_.segments) ways.push_back({payload, schedule, bound, segment});
        }
      }
    }
    for (int turn = 0; turn <= o_.repeats; ++turn) {
      for (Way& w : ways)
        if (!o_.alone || !w.payload.empty()) take_turn(c, &w, turn > 0);
    }
    const double mpi_ms = o_.alone ? 0 : timing::median(ways.front().ms);
    for (std::size_t i = 1; i < ways.size(); ++i) row(c, ways[i], mpi_ms);
  }

  void by_mpi(const float* x, float* y, std::size_t count) const {
    const auto n = static_cast<int>(count), b = static_cast<int>(block_);
    MPI_Comm const all = MPI_COMM_WORLD;
    if (collective_ == "allreduce") MPI_Allreduce(x, y, n, MPI_FLOAT, MPI_SUM, all);
    if (collective_ == "reduce") MPI_Reduce(x, y, n, MPI_FLOAT, MPI_SUM, 0, all);
    if (collective_ == "reduce_scatter_block") MPI_Reduce_scatter_block(x, y, b, MPI_FLOAT, MPI_SUM, all);
    if (collective_ == "allgather") MPI_Allgather(x, b, MPI_FLOAT, y, b, MPI_FLOAT, all);
    if (collective_ == "bcast") MPI_Bcast(y, n, MPI_FLOAT, 0, all);
    if (collective_ == "gather") MPI_Gather(x, b, MPI_FLOAT, y, b, MPI_FLOAT, 0, all);
    if (collective_ == "scatter") MPI_Scatter(x, b, MPI_FLOAT, y, b, MPI_FLOAT, 0, all);
  }

  stretto_status by_stretto(const float* x, float* y, std::size_t n, const stretto_options* o) const {
    if (collective_ == "allreduce") return stretto_allreduce(x, y, n, STRETTO_F32, STRETTO_SUM, comm_, o);
    if (collective_ == "reduce") return stretto_reduce(x, y, n, STRETTO_F32, STRETTO_SUM, 0, comm_, o);
    if (collective_ == "reduce_scatter_block")
      return stretto_reduce_scatter_block(x, y, block_, STRETTO_F32, STRETTO_SUM, comm_, o);
    if (collective_ == "allgather") return stretto_allgather(x, y, block_, STRETTO_F32, comm_, o);
    if (collective_ == "bcast") return stretto_bcast(y, n, STRETTO_F32, 0, comm_, o);
    if (collective_ == "gather") return stretto_gather(x, y, block_, STRETTO_F32, 0, comm_, o);
    return stretto_scatter(x, y, block_, STRETTO_F32, 0, comm_, o);
  }

  bool sums() const { return collective_ == "allreduce" || collective_.starts_with("reduce"); }

  Contribution contribution(const std::string& name) const {
    bench::Arrays all = bench::field(name, o_.data, ranks_, rank_);
    Contribution c;
    c.name = all.name;
    c.period = all.values.size();
    c.values = std::move(all.values);
    float low_high[2] = {-*std::min_element(c.values.begin(), c.values.end()),
                         *std::max_element(c.values.begin(), c.values.end())};
    MPI_Allreduce(MPI_IN_PLACE, low_high, 2, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    c.range = static_cast<double>(low_high[0]) + low_high[1];
    stacking::add_to_reference(STRETTO_F32, c.values.data(), 1, c.period, &c.sum);
    MPI_Allreduce(MPI_IN_PLACE, c.sum.sum.data(), static_cast<int>(c.period), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, c.sum.magnitude.data(), static_cast<int>(c.period), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    c.sum.terms = ranks_;
    const std::size_t count = std::max<std::size_t>(c.period, o_.bytes / sizeof(float));
    c.values.reserve(count);
    while (c.values.size() < count) c.values.push_back(c.values[c.values.size() - c.period]);
    return c;
  }

  static bool hierarchical(const std::string& schedule) {
    return schedule.starts_with("hierarchical") || schedule == "leader" || schedule == "node" || schedule == "auto";
  }
  // True if the schedule supports the payload: raw sums inside hosts need a hierarchical one, and the hosts' memory has
  // no others.
  static bool fits(const std::string& payload, const std::string& schedule) {
    if (schedule == "node") return payload == "raw" || payload == "mixed";
    return payload != "mixed" || hierarchical(schedule);
  }

  // Makes one call, and checks its result against the promise. `counts`: record its times.
  void take_turn(const Contribution& c, Way* w, bool counts) {
    stretto_options options = STRETTO_OPTIONS_INIT;
    options.schedule = w->schedule.c_str();
    options.report = &w->report;
    w->report.error_with_rounding = -1;  // else a pass over the result would count
    if (!w->payload.empty()) {
      options.payload = payload_of(w->payload);
      options.coding = coding_of(w->payload);
      const bool bounded = options.payload != STRETTO_PAYLOAD_BFLOAT16;
      options.bound_kind = bounded ? STRETTO_BOUND_ABSOLUTE : STRETTO_BOUND_NONE;
      options.scope = STRETTO_SCOPE_CONTRIBUTION;
      options.bound = std::strtod(w->bound.c_str(), nullptr) * c.range;
      options.segment = w->segment;
    }
    if (w->schedule == "auto") options.schedule = nullptr;
    if (collective_ == "bcast") result_ = c.values;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (w->payload.empty())
      by_mpi(c.values.data(), result_.data(), c.values.size());
    else
      require(by_stretto(c.values.data(), result_.data(), c.values.size(), &options), w->payload + " " + w->schedule);
    const double ms = timing::largest(MPI_COMM_WORLD, (MPI_Wtime() - start) * 1e3);
    if (!w->payload.empty() && !counts) check(c, w);
    if (!counts) return;
    w->ms.push_back(ms);
    w->codec.push_back(timing::largest(MPI_COMM_WORLD, w->report.codec_seconds) * 1e3);
    w->agree.push_back(timing::largest(MPI_COMM_WORLD, w->report.agree_seconds) * 1e3);
  }

  void check(const Contribution& c, Way* w) {
    if (!sums()) return check_moved(c, w);
    // Every rank gets the whole result.
    const auto b = static_cast<int>(block_);
    if (collective_ == "reduce")
      MPI_Bcast(result_.data(), static_cast<int>(result_.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (collective_ == "reduce_scatter_block") {
      const std::vector<float> own(result_.begin(), result_.begin() + b);
      for (std::size_t i = 0; i < result_.size(); ++i)  // beyond the last block nothing is summed
        result_[i] = static_cast<float>(c.sum.sum[i % c.period]);
      MPI_Allgather(own.data(), b, MPI_FLOAT, result_.data(), b, MPI_FLOAT, MPI_COMM_WORLD);
    }
    const bool in_code_space =
        w->payload.starts_with("homomorphic") || w->payload.starts_with("fused") || w->payload.starts_with("auto");
    const stacking::Quality q =
        stacking::compare(STRETTO_F32, result_.data(), c.sum,
                          {w->report.promised_error, in_code_space ? 1.0 : 2.0 * ranks_, !in_code_space});
    w->worst = q.worst;
    if (q.excess <= 0) return;
    throw Problem(fmt::format("{} {} {}: error {} passes the promise of {}", c.name, w->payload, w->schedule, q.worst,
                              w->report.promised_error));
  }

  void check_moved(const Contribution& c, Way* w) {
    std::vector<float> expected = collective_ == "bcast" ? c.values : std::vector<float>(result_.size());
    by_mpi(c.values.data(), expected.data(), c.values.size());
    std::size_t moved = expected.size();
    if (collective_ == "scatter") moved = block_;
    if (collective_ == "gather") moved = rank_ == 0 ? moved : 0;
    if (collective_ != "bcast") moved = std::min(moved, block_ * static_cast<std::size_t>(ranks_));
    for (std::size_t i = 0; i < moved; ++i) {
      const double error = std::fabs(static_cast<double>(result_[i]) - expected[i]);
      w->worst = std::max(w->worst, error);
      if (error > w->report.promised_error + std::fabs(expected[i]) * 0x1p-24)
        throw Problem(fmt::format("{} {} {} {}: error {} passes the promise of {}", collective_, c.name, w->payload,
                                  w->schedule, error, w->report.promised_error));
    }
  }

  void row(const Contribution& c, const Way& w, double mpi_ms) {
    const auto& [payload, schedule, bound, segment, all_ms, codec, agree, report, worst] = w;
    const double ms = timing::median(all_ms);
    const double sent = timing::largest(MPI_COMM_WORLD, static_cast<double>(report.bytes_sent));
    const double raw = timing::largest(MPI_COMM_WORLD, static_cast<double>(report.raw_bytes));
    const double compression = sent > 0 ? raw / sent : 1;
    if (rank_ != 0) return;

    timing::Row r{.bench = "hosts",
                  .subject = fmt::format("{}{} p={} {}{} {} {}", collective_ == "allreduce" ? "" : collective_ + " ",
                                         c.name, ranks_, several(), o_.rate, payload, schedule),
                  .metric = "ms",
                  .value = ms,
                  .unit = "ms",
                  .better = timing::Better::smaller};
    if (!o_.alone) r.peer = timing::Peer{collective_ + " of the MPI, " + timing::mpi_flavour(), mpi_ms};
    // Cases without a bound use the first requested bound.
    if (bound != o_.bounds.front()) r.subject += " " + bound;
    if (segment > 0) r.subject += fmt::format(" segment={}", segment);
    r.fields["bound"] = payload == "raw" ? "exact" : keeps_bounds(payload) ? bound : "none";
    r.fields["algorithm"] = std::string(report.algorithm);
    r.fields["coding"] = report.coding == STRETTO_CODING_DENSE ? "dense" : "fixed";
    r.fields["predicted_ms"] = report.predicted_seconds * 1e3;
    r.fields["expected_ratio"] = report.expected_ratio;
    r.fields["mb_sent"] = sent * 1e-6;
    r.fields["compression"] = compression;
    r.fields["codec_ms"] = timing::median(codec);
    r.fields["agree_ms"] = timing::median(agree);
    if (o_.gbps > 0 && several().empty() && collective_ == "allreduce") {
      const double n = static_cast<double>(c.values.size() * sizeof(float));
      const double limit = 2.0 * (ranks_ - 1) / ranks_ * n / compression * 8 / (o_.gbps * 1e9) * 1e3;
      r.fields["wire_limit_ms"] = limit;  // a ring's bytes at this compression and the full bandwidth
      r.fields["of_limit"] = limit / ms;
      r.fields["sent_ms"] = sent * 8 / (o_.gbps * 1e9) * 1e3;  // this schedule's bytes at the full bandwidth
    }
    r.fields["worst_error"] = worst;
    r.fields["promised_error"] = report.promised_error;
    rows_->write(r);
  }

  // "hosts=2 " if hosts have several ranks.
  std::string several() const { return o_.hosts > 0 && o_.hosts < ranks_ ? fmt::format("hosts={} ", o_.hosts) : ""; }

  const Options& o_;
  timing::Writer* rows_;  // on rank 0
  int rank_ = 0, ranks_ = 1;
  stretto_comm comm_ = nullptr;
  std::string collective_;
  std::size_t block_ = 0;  // elements of a rank's block
  std::vector<float> result_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"Collectives by the MPI and by stretto; run it under mpirun, or see run_hosts.py"};
  app.option_defaults()->always_capture_default();
  app.add_option("--data", o.data, "directory of real fields; computed ones take the place of those missing");
  app.add_option("--json", o.json, "append rows to this file");
  app.add_option("--rate", o.rate, "name of the network's rate, in the case");
  app.add_option("--gbps", o.gbps, "that rate in Gb/s, for the wire limit");
  app.add_option("--hosts", o.hosts, "that the ranks are on, in the case; 0: one each");
  app.add_option("--fields", o.fields)->delimiter(',');
  app.add_option("--collectives", o.collectives)
      ->delimiter(',')
      ->check(
          CLI::IsMember({"allreduce", "reduce", "reduce_scatter_block", "allgather", "bcast", "gather", "scatter"}));
  app.add_option("--schedules", o.schedules, "names; auto: as chosen")->delimiter(',');
  app.add_option("--payloads", o.payloads, "such as fused, and with a coding fused:dense or fused:fixed")
      ->delimiter(',');
  app.add_option("--bounds", o.bounds, "of the range over all contributions")->delimiter(',');
  app.add_option("--segments", o.segments, "bytes of values that travel at once; 0: as chosen")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--bytes", o.bytes, "of a contribution")->transform(CLI::AsSizeValue(false));
  app.add_option("--repeat", o.repeats)->check(CLI::Range(1, 1000));
  app.add_flag("--alone", o.alone, "no turns of the MPI, which take most of the time");
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(o.json);
  Bench bench(o, rows.get());
  for (const std::string& name : o.fields) bench.field(name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_hosts", run); }
