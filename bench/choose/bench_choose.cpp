// bench_choose: stretto's choice against the MPI's own collective and against every plausible combination, over sizes.
// Started under mpirun, on one host or several (run_choose.py). Calls have check = 0. Contestants of a cell alternate
// in turns of as many calls each; times are medians of the slowest rank's. A second entry of the MPI's own shows the
// resolution of the measurement. A cell is measured longer while more rounds may change its verdict (verdict.hpp).
// Sequences of calls as in programs (programs.hpp) come last.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "bench/choose/calls.hpp"
#include "bench/choose/first_calls.hpp"
#include "bench/choose/flag.hpp"
#include "bench/choose/programs.hpp"
#include "bench/choose/verdict.hpp"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;
using bench::Kind;

struct Options {
  std::string json, place = "1 host", profile;
  std::vector<std::string> only;
  double seconds_a_cell = 1.0;  // total over all contestants
  std::uint64_t least = 8, most = std::uint64_t{64} << 20U;
  std::vector<std::uint64_t> lengths{64, 8 << 10, 512 << 10, 4 << 20, 32 << 20};  // with first_calls
  int factor = 8;
  double bound = 1e-4;
  bool first_calls = false, ucx = false;
};

constexpr double kHopeless = 2.5;  // contestants that take this many times the least are dropped from the rounds
constexpr int kLonger = 4;         // an open cell takes this many times its seconds

class Bench {
 public:
  Bench(const Options& o, timing::Writer* rows) : o_(o), rows_(rows), calls_(o.most), hosts_(calls_.hosts()) {
    for (std::uint64_t n = o.least; n < o.most; n *= static_cast<std::uint64_t>(o.factor)) sizes_.push_back(n);
    sizes_.push_back(o.most);
    if (o.profile.empty()) {  // as where nobody ran `stretto tune`
      unsetenv("STRETTO_PROFILE");
      setenv("XDG_CONFIG_HOME", "/dev/null", 1);
    } else {
      setenv("STRETTO_PROFILE", o.profile.c_str(), 1);
    }
    if (stretto_comm_create(MPI_COMM_WORLD, &comm_) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  ~Bench() { static_cast<void>(stretto_comm_free(comm_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    if (o_.first_calls) {
      bench::FirstCallsOptions first{.place = o_.place};
      first.profile = o_.profile.empty() ? "built-in" : "tuned";
      first.only = o_.only;
      for (const std::uint64_t n : o_.lengths)
        if (n <= o_.most) first.lengths.push_back(n);
      first.bound = o_.bound;
      first.seconds = o_.seconds_a_cell;
      first.ucx = o_.ucx;
      bench::measure_first_calls(calls_, first, rows_);
      return;
    }
    for (const Kind& kind : bench::kinds()) {
      if (!o_.only.empty() && std::find(o_.only.begin(), o_.only.end(), kind.name) == o_.only.end()) continue;
      std::uint64_t last = ~std::uint64_t{0};
      for (const std::uint64_t size : sizes_) {
        const std::uint64_t bytes = calls_.fit(kind, size);
        if (bytes != last) cell(kind, bytes);
        last = bytes;
      }
    }
    if (o_.only.empty() || std::find(o_.only.begin(), o_.only.end(), "programs") != o_.only.end())
      bench::measure_programs(calls_, comm_, {o_.place, o_.seconds_a_cell, o_.most}, rows_);
  }

 private:
  struct Contestant {
    std::string name;
    bool bounded = false;
    std::string schedule{};
    stretto_payload payload = STRETTO_PAYLOAD_AUTO;
    std::vector<double> ms{};
    stretto_report report = STRETTO_REPORT_INIT;

    bool mpi() const { return name == "MPI" || again(); }
    bool again() const { return name == "MPI again"; }
    bool chosen() const { return name.starts_with("chosen"); }
    // The contestant with the combination that the library chose.
    std::string picked() const {
      const std::string algorithm = report.algorithm;
      const std::string ran = report.payload;  // forwarded streams are forced as fused
      if (algorithm == "native") return "MPI";
      if (algorithm == "node" && ran == "raw") return algorithm;
      return fmt::format("{} {}", algorithm, ran == "compress_once" ? "fused" : ran);
    }
  };

  std::vector<Contestant> contestants(const Kind& kind) const {
    std::vector<Contestant> all{{.name = "MPI"}, {.name = "MPI again"}, {.name = "chosen"}};
    if (kind.bounded) all.push_back({.name = "chosen within a bound", .bounded = true});
    const auto add = [&](const std::string& schedule) {
      all.push_back({.name = schedule + " raw", .schedule = schedule, .payload = STRETTO_PAYLOAD_RAW});
      if (kind.bounded)
        all.push_back(
            {.name = schedule + " fused", .bounded = true, .schedule = schedule, .payload = STRETTO_PAYLOAD_FUSED});
    };
    for (const char* s : kind.schedules) add(s);
    if (hosts_ == 1 && calls_.ranks() > 1) {
      all.push_back({.name = "node", .schedule = "node"});
      if (kind.bounded)
        all.push_back({.name = "node fused", .bounded = true, .schedule = "node", .payload = STRETTO_PAYLOAD_FUSED});
    }
    if (kind.collective == schedule::Collective::allreduce && hosts_ > 1 && hosts_ < calls_.ranks()) {
      for (const char* s : {"hierarchical_ring", "leader"}) add(s);
      all.push_back({.name = "hierarchical_ring mixed",
                     .bounded = true,
                     .schedule = "hierarchical_ring",
                     .payload = STRETTO_PAYLOAD_MIXED});
    }
    return all;
  }

  stretto_status once(const Kind& kind, std::uint64_t bytes, const Contestant& c, stretto_report* report) {
    if (c.mpi()) {
      calls_.mpi(kind, bytes);
      return STRETTO_OK;
    }
    stretto_options o = STRETTO_OPTIONS_INIT;
    o.check = 0;
    o.schedule = c.schedule.empty() ? nullptr : c.schedule.c_str();
    o.payload = c.payload;
    o.report = report;
    if (c.bounded) {
      o.bound_kind = STRETTO_BOUND_ABSOLUTE;
      o.scope = STRETTO_SCOPE_CONTRIBUTION;
      o.bound = o_.bound;
    }
    return calls_.ours(kind, bytes, comm_, o);
  }

  double sample(const Kind& kind, std::uint64_t bytes, Contestant& c, int calls) {
    return calls_.sample(
        [&] {
          if (once(kind, bytes, c, nullptr) != STRETTO_OK)
            throw std::runtime_error(fmt::format("{} {}: {}", kind.name, c.name, stretto_message()));
        },
        calls, bytes);
  }

  // Calls per sample, equal for all contestants: otherwise the fixed cost of a sample's start would weigh less on those
  // with more calls.
  int calls_of_a_sample(const Kind& kind, std::uint64_t bytes, Contestant& mpi) {
    double least = sample(kind, bytes, mpi, 1);
    for (int k = 0; k < 4; ++k) least = std::min(least, sample(kind, bytes, mpi, bench::Calls::calls_for(least)));
    return bench::Calls::calls_for(least);
  }

  // Makes the first calls, of which the first walks schedules, and keeps the last call's report.
  void settle(const Kind& kind, std::uint64_t bytes, Contestant& c) {
    for (int k = 0; k < 3; ++k)
      if (once(kind, bytes, c, &c.report) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }

  void cell(const Kind& kind, std::uint64_t bytes) {
    std::vector<Contestant> all = contestants(kind);
    const double before = regime();
    const int calls = calls_of_a_sample(kind, bytes, all.front());
    double least = 1e300;
    std::vector<double> first;
    std::erase_if(all, [&](Contestant& c) {
      if (c.chosen()) settle(kind, bytes, c);
      if (once(kind, bytes, c, nullptr) != STRETTO_OK) return true;  // unsupported here, on all ranks alike
      first.push_back(sample(kind, bytes, c, calls));
      least = std::min(least, first.back());
      return false;
    });
    std::vector<Contestant> kept;
    double round_ms = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].mpi() && !all[i].chosen() && first[i] > kHopeless * least) continue;
      kept.push_back(std::move(all[i]));
      round_ms += first[i] * calls;
    }
    const double budget = o_.seconds_a_cell * 1e3 / round_ms;
    const int rounds = std::clamp(static_cast<int>(budget), 4, 41);
    // In a different order each round, equal on all ranks, since each contestant affects caches and network buffers for
    // the next.
    std::mt19937 order(1);
    std::vector<Contestant*> turns;
    for (Contestant& c : kept) turns.push_back(&c);
    for (int r = 0; r < rounds || (r < kLonger * budget && open(kept)); ++r) {
      std::shuffle(turns.begin(), turns.end(), order);
      for (Contestant* c : turns) c->ms.push_back(sample(kind, bytes, *c, calls));
    }
    tell(kind, bytes, kept, before, regime());
  }

  // Exact calls compete with exact calls, bounded calls with all.
  static bench::Verdict verdict(const std::vector<Contestant>& all, const Contestant& c) {
    std::vector<bench::Rounds> others;
    for (const Contestant& other : all) {
      if (!other.chosen() && !other.again() && (c.bounded || !other.bounded)) others.push_back({other.name, other.ms});
    }
    return bench::judge(c.ms, all.front().ms, others, c.picked());
  }

  // True if more rounds may change a verdict. Samples are the slowest rank's, so all ranks agree.
  static bool open(const std::vector<Contestant>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Contestant& c) { return c.chosen() && verdict(all, c).open; });
  }

  double regime() {
    double microseconds = calls_.rank() == 0 ? bench::flag_round_trip() : 0;
    MPI_Bcast(&microseconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return microseconds;
  }

  void tell(const Kind& kind, std::uint64_t bytes, const std::vector<Contestant>& all, double before, double after) {
    if (calls_.rank() != 0) return;
    nlohmann::ordered_json times = nlohmann::ordered_json::object();
    for (const Contestant& c : all) times[c.name] = timing::median(c.ms);
    const double own = timing::median(all.front().ms);
    const bench::Interval again = bench::ratio(all[1].ms, all.front().ms);
    for (const Contestant& c : all) {
      if (!c.chosen()) continue;
      const bench::Verdict v = verdict(all, c);
      const double ms = timing::median(c.ms);
      const std::string subject =
          fmt::format("{} {} B p={} {}{}", kind.name, bytes, calls_.ranks(), o_.place, c.bounded ? " bound" : "");
      timing::Row r{.bench = "choose",
                    .subject = subject,
                    .metric = "ms",
                    .value = ms,
                    .unit = "ms",
                    .better = timing::Better::smaller,
                    .peer = timing::Peer{"MPI " + timing::mpi_version(), own}};
      const auto mark = [&](timing::Row& row) {
        row.fields["place"] = o_.place;
        row.fields["mpi"] = timing::mpi_version();
        row.fields["ranks"] = calls_.ranks();
        row.fields["collective"] = kind.name;
        row.fields["bytes"] = bytes;
        row.fields["bounded"] = c.bounded;
      };
      mark(r);
      r.fields["schedule"] = c.report.algorithm;
      r.fields["payload"] = c.report.payload;
      r.fields["predicted_ms"] = c.report.predicted_seconds * 1e3;
      r.fields["expected_ratio"] = c.report.expected_ratio;
      r.fields["over_mpi"] = {v.over.low, v.over.middle, v.over.high};
      r.fields["reason"] = c.report.reason;
      r.fields["again_over_mpi"] = {again.low, again.middle, again.high};
      r.fields["rounds"] = c.ms.size();
      r.fields["flag_us"] = {before, after};
      r.fields["times_ms"] = times;
      rows_->write(r);
      timing::Row regret{
          .bench = "choose", .subject = subject, .metric = "regret", .value = v.regret, .unit = "fraction"};
      regret.better = timing::Better::smaller;
      mark(regret);
      regret.fields["best"] = v.best;
      regret.fields["best_ms"] = v.best_ms;
      regret.fields["open"] = v.open;
      rows_->write(regret);
    }
  }

  const Options& o_;
  timing::Writer* rows_;  // on rank 0
  bench::Calls calls_;
  int hosts_ = 1;
  stretto_comm comm_ = nullptr;
  std::vector<std::uint64_t> sizes_;
};

int run(int argc, char** argv, int rank) {
  Options o;
  bool quick = false;
  CLI::App app{"What stretto chooses, against the MPI; run it under mpirun, or see run_choose.py"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", o.json, "append rows to this file");
  app.add_option("--place", o.place, "where it runs, in the case");
  app.add_option("--profile", o.profile,
                 "STRETTO_PROFILE of the communicators; empty: the built-in one, and probes of network and codec");
  app.add_option("--only", o.only, "collectives, by name, and programs; all")->delimiter(',');
  app.add_option("--seconds", o.seconds_a_cell, "for all contestants of a cell");
  app.add_option("--most", o.most, "largest vector")->transform(CLI::AsSizeValue(false));
  app.add_option("--factor", o.factor, "between sizes")->check(CLI::Range(2, 1024));
  app.add_option("--bound", o.bound, "absolute, of values within 1");
  app.add_flag("--first-calls", o.first_calls,
               "only the first calls of fresh communicators, over those of the fastest forced path");
  app.add_option("--lengths", o.lengths, "with --first-calls: bytes of the vectors")
      ->transform(CLI::AsSizeValue(false))
      ->delimiter(',');
  app.add_flag("--ucx", o.ucx, "with --first-calls: communicators over UCX");
  app.add_flag("--quick", quick, "few sizes, up to 1 MiB");
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  if (quick) {
    o.most = std::min<std::uint64_t>(o.most, std::uint64_t{1} << 20U);
    o.factor = 32;
    o.seconds_a_cell = 0.2;
  }
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(o.json);
  Bench(o, rows.get()).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_choose", run); }
