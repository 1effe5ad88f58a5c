// bench_device: allreduce of float32 in device memory by the systems of the literature, over links of several rates.
// run_device.py starts it under mpirun. Ranks are those of the MPI, or threads of its one process. Rank r uses device r
// modulo the number of devices, a GPU or the emulated one. Also timed: the MPI's own allreduce of values copied to the
// host and back, and the library's native collective if it serves.
//
// A part is a size at a rate. Its rows are written at its end. A part with rows in the file is skipped, so an
// interrupted run continues. Each result is compared bit for bit with that of the same call on host memory.
#include <sched.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "apps/command_line.hpp"
#include "apps/mpi_main.hpp"
#include "bench/device/calls.hpp"
#include "bench/device/costs.hpp"
#include "bench/device/memory.hpp"
#include "bench/device/ranks.hpp"
#include "bench/device/rows.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_cuda_collectives.h"

namespace {

using namespace stretto;
using bench::DeviceRow;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Options {
  std::string json, device = "unnamed", rows, carrier;
  std::vector<std::uint64_t> bytes{1U << 20U, 16U << 20U, 256U << 20U, 1U << 30U};
  std::vector<double> rates{0, 25, 100, 200, 400};  // Gb/s; 0: unlimited
  double bound = 1e-4, seconds = 480;
  std::uint64_t compare = 64U << 20U, costs = 64U << 20U;
  std::uint64_t segment = 0;  // 0: the library's choice
  int hosts = 0, threads = 0, repeats = 5;
};

void require(stretto_status s, const std::string& doing) {
  if (s != STRETTO_OK)
    throw std::runtime_error(fmt::format("{}: {}: {}", doing, stretto_status_name(s), stretto_message()));
}

// The library reads host names per process, so ranks of one machine stand for several hosts. False if not permitted.
bool rename_host(int host) {
  const std::string name = fmt::format("bench-device-{}", host);
  return unshare(CLONE_NEWUTS) == 0 && sethostname(name.data(), name.size()) == 0;
}

// A random walk with a pull to zero, different on each rank and periodic. Streams take about a fifth of it at the usual
// bound.
std::vector<float> walk(int rank, std::size_t count) {
  std::vector<float> v(std::max<std::size_t>(count, 1));
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
  const std::size_t period = std::min<std::size_t>(v.size(), std::size_t{1} << 22U);
  float at = 0;
  for (std::size_t i = 0; i < period; ++i)
    v[i] = at = 0.9995F * at + static_cast<float>(random() >> 40U) * 0x1p-24F - 0.5F;
  for (std::size_t i = period; i < v.size(); ++i) v[i] = v[i - period];
  return v;
}

// A communicator whose messages pass through the host at no more than `rate` Gb/s; 0: unlimited, by `carrier` (empty:
// the library's choice).
class Links {
 public:
  Links(bench::Ranks& ranks, double rate, const std::string& carrier, const std::string& codes, std::size_t count) {
    ranks.meet();  // nobody reads the environment, which threads share
    if (ranks.rank() == 0 || !ranks.are_threads()) {
      give("STRETTO_LINK_GBIT", rate > 0 ? fmt::format("{:g}", rate) : "");
      give("STRETTO_DEVICE_CARRIER", rate > 0 ? "" : carrier);
      give("STRETTO_DEVICE_CODES", codes);
    }
    ranks.meet();
    require(ranks.make(&comm_), "making the communicator");
    if (rate > 0 || carrier == "host" || carrier == "peer") return;
    // Prevents allocations in calls: CUDA may wait for NCCL's kernels in an allocation, and one of these for this rank.
    std::size_t device_bytes = 0, pinned_bytes = 0;
    require(stretto_cuda_need(comm_, STRETTO_F32, count, &device_bytes, &pinned_bytes), "what a call needs");
    require(stretto_cuda_reserve(comm_, device_bytes, pinned_bytes), "memory for calls");
  }
  ~Links() { static_cast<void>(stretto_comm_free(comm_)); }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  stretto_comm get() const noexcept { return comm_; }

 private:
  static void give(const char* setting, const std::string& value) {
    value.empty() ? unsetenv(setting) : setenv(setting, value.c_str(), 1);
  }

  stretto_comm comm_ = nullptr;
};

// Times of a row's turns: milliseconds of the slowest rank.
struct RowTimes {
  const DeviceRow* row = nullptr;  // null: the MPI's own
  std::string name;
  std::vector<double> ms{}, codec{}, wait{}, agree{};
  bench::DriverCalls calls{};  // of one rank and turn, if the plugin counts them
  stretto_report report = STRETTO_REPORT_INIT;
  bool compared = false, serves = true;
};

class Bench {
 public:
  Bench(const Options& o, bench::Ranks& ranks, timing::Writer* rows) : o_(o), ranks_(ranks), rows_(rows) {
    name_hosts();
    read_done();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // True if nothing is left.
  bool run() {
    costs();
    for (const std::uint64_t bytes : o_.bytes) {
      for (const double rate : o_.rates) {
        if (!in_time()) return false;
        part(bytes, rate);
      }
    }
    return true;
  }

 private:
  void name_hosts() {
    if (o_.hosts <= 1 || ranks_.are_threads() || ranks_.size() % o_.hosts != 0) return;
    const bool all = ranks_.largest(rename_host(rank() / (ranks_.size() / o_.hosts)) ? 0 : 1) == 0;
    hosts_ = all ? o_.hosts : 1;
    if (!all && rank() == 0) fmt::print(stderr, "bench_device: ranks cannot take host names, so ArGM is left out\n");
  }

  // Reads the cases of an earlier run from the file.
  void read_done() {
    if (rank() != 0 || o_.json.empty()) return;
    std::ifstream file(o_.json);
    for (std::string line; std::getline(file, line);) {
      const auto row = nlohmann::json::parse(line, nullptr, false);
      if (row.is_object() && row.contains("case")) done_.insert(row["case"].get<std::string>());
    }
  }
  int rank() const noexcept { return ranks_.rank(); }
  bool in_time() { return ranks_.told(since(begun_) < o_.seconds); }
  bool is_done(const std::string& subject) { return ranks_.told(done_.count(subject) > 0); }

  std::string place(std::uint64_t bytes, double rate) const {
    const std::string at = rate > 0 ? fmt::format("{:g} Gb/s", rate) : "as it is";
    const std::string cut = o_.segment > 0 ? fmt::format(", segments of {} B", o_.segment) : "";
    return fmt::format("p={} {} B, {}{}", ranks_.size(), bytes, at, cut);
  }

  // Measures rank 0's device while the others wait.
  void costs() {
    const std::string subject = "costs";
    if (o_.costs == 0 || is_done(subject)) return;
    if (rank() == 0) {
      const std::vector<float> values = walk(0, o_.costs / sizeof(float));
      const bench::DeviceCosts c = bench::measure_device(values.data(), o_.costs, o_.bound * range(values), o_.repeats);
      timing::Row r{.bench = "device", .subject = subject, .metric = "launch", .value = c.launch * 1e6, .unit = "us"};
      r.fields["device"] = o_.device;
      r.fields["costs"] = {{"launch", c.launch}, {"look", c.look},         {"staging", c.staging},
                           {"copy", c.copy},     {"combine", c.combine},   {"ratio", c.ratio},
                           {"call", c.call},     {"compress", c.compress}, {"decompress", c.decompress},
                           {"add", c.add},       {"fused", c.fused}};
      rows_->write(r);
    }
    ranks_.meet();
  }

  static double range(const std::vector<float>& v) {
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    return std::max(1e-30, static_cast<double>(*high) - *low);
  }

  bool wanted(const DeviceRow& row) const {
    if (row.hosts && hosts_ < 2) return false;
    return o_.rows.empty() || fmt::format(",{},", o_.rows).find(fmt::format(",{},", row.name)) != std::string::npos;
  }

  std::vector<RowTimes> contestants(double rate) const {
    std::vector<RowTimes> all;
    if (rate <= 0) {
      if (!ranks_.are_threads()) all.push_back({nullptr, "MPI"});
      static constexpr DeviceRow kNative{"native", "native", STRETTO_PAYLOAD_AUTO, false};
      all.push_back({&kNative, "native"});
    }
    for (const DeviceRow& row : bench::kDeviceRows)
      if (wanted(row)) all.push_back({&row, std::string(row.name)});
    return all;
  }

  void part(std::uint64_t bytes, double rate) {
    std::vector<RowTimes> all = contestants(rate);
    const std::string where = place(bytes, rate);
    if (is_done(where + ", end")) return;
    const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(float));
    const std::vector<float> values = walk(rank(), count);
    eps_ = o_.bound * ranks_.largest(range(values));
    bench::Memory in(device::MemoryKind::device, count * sizeof(float)), out(device::MemoryKind::device, in.bytes());
    copier_.to_device(in.data(), values.data(), in.bytes());
    std::map<std::string_view, Links> links;
    const auto codes_of = [](const RowTimes& t) { return std::string_view(t.row != nullptr ? t.row->codes : ""); };
    for (const RowTimes& t : all)
      links.try_emplace(codes_of(t), ranks_, rate, o_.carrier, std::string(codes_of(t)), count);
    for (int turn = 0; turn <= o_.repeats; ++turn) {
      for (RowTimes& t : all) {
        comm_ = links.at(codes_of(t)).get();
        if (t.serves) take_turn(&t, values, in, out, turn > 0);
      }
    }
    for (const RowTimes& t : all)
      if (t.serves) write(t, all, where, bytes, rate);
    if (rank() == 0) {
      timing::Row end{
          .bench = "device", .subject = where + ", end", .metric = "rows", .value = double(all.size()), .unit = ""};
      end.fields["device"] = o_.device;
      rows_->write(end);
    }
  }

  stretto_options options_of(const DeviceRow& row, stretto_report* report) const {
    stretto_options options = STRETTO_OPTIONS_INIT;
    options.timeout = 60;  // reports a hang
    if (!row.schedule.empty()) options.schedule = row.schedule.data();
    options.report = report;
    options.payload = row.payload;
    options.segment = o_.segment;
    const bool native = row.schedule == "native";
    if (row.payload == STRETTO_PAYLOAD_RAW || native) return options;
    options.bound_kind = STRETTO_BOUND_ABSOLUTE;
    options.scope = STRETTO_SCOPE_CONTRIBUTION;
    options.bound = eps_;
    return options;
  }

  void take_turn(RowTimes* t, const std::vector<float>& values, const bench::Memory& in, const bench::Memory& out,
                 bool counts) {
    const std::size_t count = values.size();
    ranks_.meet();
    const bench::DriverCalls before = calls();
    ranks_.meet();
    const Clock::time_point start = Clock::now();
    if (t->row == nullptr) {
      over_mpi(in, out);
    } else {
      const stretto_options options = options_of(*t->row, &t->report);
      const stretto_status s =
          stretto_allreduce(in.data(), out.data(), count, STRETTO_F32, STRETTO_SUM, comm_, &options);
      if (s == STRETTO_UNSUPPORTED && t->row->schedule == "native") {  // on every rank
        t->serves = false;
        return;
      }
      require(s, t->name);
    }
    const double ms = ranks_.largest(since(start) * 1e3);
    if (!counts && t->row != nullptr) compare(t, values, out);
    if (!counts) return;
    t->calls = since_then(before);
    t->ms.push_back(ms);
    t->codec.push_back(ranks_.largest(t->report.codec_seconds) * 1e3);
    t->wait.push_back(ranks_.largest(t->report.wait_seconds) * 1e3);
    t->agree.push_back(ranks_.largest(t->report.agree_seconds) * 1e3);
  }

  // Driver calls of this process so far.
  bench::DriverCalls calls() const {
    bench::DriverCalls now;
    if (read_calls_ != nullptr) read_calls_(&now);
    return now;
  }

  // Driver calls of one rank since `before`: the mean over the ranks of the process.
  bench::DriverCalls since_then(const bench::DriverCalls& before) const {
    bench::DriverCalls d = calls();
    const double ranks = ranks_.are_threads() ? ranks_.size() : 1;
    for (std::size_t i = 0; i < d.number.size(); ++i) {
      d.number[i] = static_cast<std::uint64_t>(static_cast<double>(d.number[i] - before.number[i]) / ranks + 0.5);
      d.seconds[i] = (d.seconds[i] - before.seconds[i]) / ranks;
    }
    return d;
  }

  // The path of a program without a library for devices.
  void over_mpi(const bench::Memory& in, const bench::Memory& out) {
    host_.resize(in.bytes() / sizeof(float));
    copier_.to_host(host_.data(), in.data(), in.bytes());
    MPI_Allreduce(MPI_IN_PLACE, host_.data(), static_cast<int>(host_.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    copier_.to_device(out.data(), host_.data(), out.bytes());
  }

  // Compares with the host's result under the same options. Skips native collectives and free choices, whose bits may
  // differ.
  void compare(RowTimes* t, const std::vector<float>& values, const bench::Memory& out) {
    if (out.bytes() > o_.compare || t->row->schedule.empty() || t->row->schedule == "native") return;
    std::vector<float> expected(values.size()), found(values.size());
    stretto_report report = STRETTO_REPORT_INIT;
    const stretto_options options = options_of(*t->row, &report);
    require(stretto_allreduce(values.data(), expected.data(), values.size(), STRETTO_F32, STRETTO_SUM, comm_, &options),
            t->name + " of the host");
    copier_.to_host(found.data(), out.data(), out.bytes());
    if (std::memcmp(found.data(), expected.data(), out.bytes()) != 0)
      throw std::runtime_error(fmt::format("{} of {} bytes differs from the host's result", t->name, out.bytes()));
    t->compared = true;
  }

  void write(const RowTimes& t, const std::vector<RowTimes>& all, const std::string& where, std::uint64_t bytes,
             double rate) {
    const double sent = ranks_.largest(static_cast<double>(t.report.bytes_sent));
    const double raw = ranks_.largest(static_cast<double>(t.report.raw_bytes));
    if (rank() != 0) return;
    const auto beside = std::find_if(all.begin(), all.end(), [](const RowTimes& other) { return other.name == "raw"; });
    timing::Row r{.bench = "device",
                  .subject = where + ", " + t.name,
                  .metric = "ms",
                  .value = timing::median(t.ms),
                  .unit = "ms",
                  .better = timing::Better::smaller};
    if (beside != all.end() && &*beside != &t) r.peer = timing::Peer{"raw", timing::median(beside->ms)};
    r.fields["row"] = t.name;
    r.fields["bytes"] = bytes;
    r.fields["gbps"] = rate;
    r.fields["ranks"] = ranks_.size();
    r.fields["threads"] = ranks_.are_threads();
    r.fields["device"] = o_.device;
    if (t.row != nullptr) {
      r.fields["algorithm"] = t.report.algorithm;
      r.fields["payload"] = t.report.payload;
      r.fields["codes"] = t.row->codes;
      r.fields["codec_ms"] = timing::median(t.codec);
      r.fields["wait_ms"] = timing::median(t.wait);
      r.fields["agree_ms"] = timing::median(t.agree);
      const double wire = rate > 0 ? sent * 8 / (rate * 1e9) * 1e3 : 0;  // its bytes at the link's full rate
      if (rate > 0) r.fields["wire_ms"] = wire;
      if (r.value < wire * 0.9)
        throw std::runtime_error(
            fmt::format("{} took {:.3g} ms for bytes that take {:.3g} ms at {:g} Gb/s: nothing slows the link down",
                        t.name, r.value, wire, rate));
      r.fields["compression"] = sent > 0 ? raw / sent : 1;
      r.fields["predicted_ms"] = t.report.predicted_seconds * 1e3;
      r.fields["compared"] = t.compared;
      r.fields["raw_bytes_sent"] = t.report.raw_bytes;
      for (std::size_t i = 0; read_calls_ != nullptr && i < t.calls.number.size(); ++i) {
        r.fields["calls"][bench::kDriverCallNames[i]] = t.calls.number[i];
        r.fields["calls_us"][bench::kDriverCallNames[i]] = t.calls.seconds[i] * 1e6;
      }
    }
    rows_->write(r);
  }

  const Options& o_;
  bench::Ranks& ranks_;
  timing::Writer* rows_;  // on rank 0
  const Clock::time_point begun_ = Clock::now();
  int hosts_ = 1;
  double eps_ = 0;
  stretto_comm comm_ = nullptr;  // of the part
  std::set<std::string> done_;
  const bench::ReadDriverCalls read_calls_ = bench::find_driver_calls();
  bench::Copier copier_;
  std::vector<float> host_;
};

void time_rows(const Options& o, bench::Ranks& ranks, timing::Writer* rows) {
  require(stretto_cuda_available(), "looking for a device");
  int devices = 1;
  bench::check(bench::plugin().device_count(&devices), "devices");
  bench::check(bench::plugin().use_device(ranks.rank() % devices), "a device");
  Bench bench(o, ranks, rows);
  if (!bench.run() && ranks.rank() == 0)
    fmt::print(stderr, "bench_device: {:.0f} s are over; the same command goes on with the parts that are left\n",
               o.seconds);
}

// An exception of one thread ends the process, since all others would wait for that thread.
int run_threads(const Options& o) {
  bench::ThreadGroup group(o.threads);
  timing::Writer rows(o.json);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < o.threads; ++rank)
    threads.emplace_back([&, rank] {
      try {
        bench::ThreadRanks ranks(group, rank);
        time_rows(o, ranks, &rows);
      } catch (const std::exception& e) {
        fmt::print(stderr, "bench_device: rank {}: {}\n", rank, e.what());
        std::_Exit(1);
      }
    });
  for (std::thread& t : threads) t.join();
  return 0;
}

int run(int argc, char** argv, int rank) {
  Options o;
  CLI::App app{"Allreduce in the memory of devices, every row of the literature; run_device.py starts it"};
  app.option_defaults()->always_capture_default();
  app.add_option("--json", o.json, "append rows to this file, and pass over the parts that it has");
  app.add_option("--device", o.device, "the device's name, in rows");
  app.add_option("--rows", o.rows, "those of these names alone, with commas between");
  app.add_option("--bytes", o.bytes, "of a vector")->delimiter(',')->transform(CLI::AsSizeValue(false));
  app.add_option("--gbps", o.rates, "rates of links, in Gb/s; 0: as they are")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--bound", o.bound, "of a contribution, as a fraction of the range")->check(CLI::PositiveNumber);
  app.add_option("--hosts", o.hosts, "that ranks stand for, by names of their own");
  app.add_option("--threads", o.threads, "ranks are so many threads of one process; 0: those of the MPI");
  app.add_option("--carrier", o.carrier, "of messages over links as they are: STRETTO_DEVICE_CARRIER");
  app.add_option("--compare", o.compare, "vectors of up to so many bytes are compared with the host's")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--costs", o.costs, "bytes by which the device's own costs are measured; 0: they are not")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--segment", o.segment, "bytes of a segment; 0: the library's choice")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--seconds", o.seconds, "no part begins later than this");
  app.add_option("--repeat", o.repeats)->check(CLI::Range(1, 1000));
  if (int code = 0; !parsed(app, argc, argv, rank == 0, &code)) return code;
  if (o.threads > 0) return run_threads(o);
  std::unique_ptr<timing::Writer> rows;
  if (rank == 0) rows = std::make_unique<timing::Writer>(o.json);
  bench::MpiRanks ranks;
  time_rows(o, ranks, rows.get());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "bench_device", run); }
