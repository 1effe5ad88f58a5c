// Collectives between ranks of one node: ours against the MPI's own and against what the machine allows, in one run, row by row.
//
// Ranks should be bound, two of them to two cores (make bench-node does so). Each row takes turns between the contestants, so that
// they see the same moments; inputs are rewritten and outputs read between iterations unless buffers=unmodified. The flag's round
// trip is taken before and after each row: `regime` is near, far or mixed by it, and only rows of one regime compare.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "bench/limits.hpp"
#include "bench/mpi.hpp"
#include "bench/rows.hpp"
#include "carrier/mpi.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives.hpp"
#include "stretto/stretto_mpi.h"

namespace {

using namespace stretto;  // NOLINT: a program
using Clock = std::chrono::steady_clock;

constexpr double near_limit = 0.25;  // microseconds of a flag's round trip

// Our collectives on floats: those of src/node, or the same through the C API.
class Ours {
 public:
  virtual ~Ours() = default;
  // Calls until what runs is settled: the C API tries several ways first.
  virtual void settle(const std::function<void()>&) {}
  virtual void barrier() = 0;
  virtual void bcast(float* data, std::size_t n) = 0;
  virtual void reduce(const float* in, float* out, std::size_t n) = 0;
  virtual void allreduce(const float* in, float* out, std::size_t n) = 0;
  virtual void allgather(const float* in, float* out, std::size_t block) = 0;  // bytes
  virtual void alltoall(const float* in, float* out, std::size_t block) = 0;
};

class Direct final : public Ours {
 public:
  explicit Direct(node::Collectives& c) : c_(c) {}
  void barrier() override { check(c_.barrier()); }
  void bcast(float* data, std::size_t n) override { check(c_.bcast(data, n * sizeof(float), 0)); }
  void reduce(const float* in, float* out, std::size_t n) override {
    check(c_.reduce(in, out, n, payload::Type::f32, {payload::Op::sum}, 0));
  }
  void allreduce(const float* in, float* out, std::size_t n) override {
    check(c_.allreduce(in, out, n, payload::Type::f32, {payload::Op::sum}));
  }
  void allgather(const float* in, float* out, std::size_t block) override { check(c_.allgather(in, out, block)); }
  void alltoall(const float* in, float* out, std::size_t block) override { check(c_.alltoall(in, out, block)); }

 private:
  static void check(Status s) {
    if (s != Status::ok) throw std::runtime_error(message());
  }
  node::Collectives& c_;
};

class Api final : public Ours {
 public:
  explicit Api(bool agree) {
    check(stretto_comm_create(MPI_COMM_WORLD, &comm_));
    o_.check = agree ? 1 : 0;
  }
  ~Api() override { static_cast<void>(stretto_comm_free(comm_)); }
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  void settle(const std::function<void()>& call) override {
    stretto_report report = STRETTO_REPORT_INIT;
    o_.report = &report;
    int settled = 0;  // calls; of which all ranks see as many
    for (int k = 0; k < 3000 && settled < 20; ++k) {
      call();
      settled = report.trial ? 0 : settled + 1;
    }
    o_.report = nullptr;
  }
  void barrier() override { check(stretto_barrier(comm_, &o_)); }
  void bcast(float* data, std::size_t n) override { check(stretto_bcast(data, n, STRETTO_F32, 0, comm_, &o_)); }
  void reduce(const float* in, float* out, std::size_t n) override {
    check(stretto_reduce(in, out, n, STRETTO_F32, STRETTO_SUM, 0, comm_, &o_));
  }
  void allreduce(const float* in, float* out, std::size_t n) override {
    check(stretto_allreduce(in, out, n, STRETTO_F32, STRETTO_SUM, comm_, &o_));
  }
  void allgather(const float* in, float* out, std::size_t block) override {
    check(stretto_allgather(in, out, block, STRETTO_U8, comm_, &o_));
  }
  void alltoall(const float* in, float* out, std::size_t block) override {
    check(stretto_alltoall(in, out, block, STRETTO_U8, comm_, &o_));
  }

 private:
  static void check(stretto_status s) {
    if (s != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  stretto_comm comm_ = nullptr;
  stretto_options o_ = STRETTO_OPTIONS_INIT;
};

struct Contest {
  int rank = 0, ranks = 1;
  Ours* ours = nullptr;
  bench::Limits* limits = nullptr;  // with two ranks
  bench::Writer* rows = nullptr;
  float *in = nullptr, *out = nullptr;
  std::size_t repeats = 0;
  std::string memory, peer, through;
};

struct Contestant {
  std::string name;
  std::function<void()> call;
  const float* output = nullptr;
  bool limit = false;
};

// Milliseconds of one row: enough for medians of long vectors, and bounded.
std::size_t repeats_for(std::size_t bytes, std::size_t asked) {
  if (asked > 0) return asked;
  return std::clamp<std::size_t>((std::size_t{1} << 28) / std::max<std::size_t>(bytes, 1), 9, 301);
}

volatile float sink = 0;

// Median microseconds of each contestant, of the slowest rank. Short collectives are timed several in a row.
std::vector<double> measure(Contest& c, std::vector<Contestant>& contestants, std::size_t floats, std::size_t bytes,
                            bool rewrite) {
  const std::size_t inner = bytes <= 1024 ? 32 : 1, repeats = repeats_for(bytes, c.repeats);
  std::vector<std::vector<double>> samples(contestants.size());
  for (std::size_t k = 0; k < repeats + 2; ++k) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (rewrite) {
        for (std::size_t j = 0; j < floats; ++j) c.in[j] = static_cast<float>(k + (j & 1023));
        if (contestants[i].limit) c.limits->rewrite(floats, static_cast<float>(k));
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const auto begin = Clock::now();
      for (std::size_t n = 0; n < inner; ++n) contestants[i].call();
      const double us =
          std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / static_cast<double>(inner);
      float read = 0;
      for (std::size_t j = 0; rewrite && contestants[i].output != nullptr && j < floats; j += 16)
        read += contestants[i].output[j];
      sink = read;
      if (k >= 2) samples[i].push_back(us);
    }
  }
  std::vector<double> medians;
  for (auto& s : samples) medians.push_back(bench::largest(MPI_COMM_WORLD, bench::median(std::move(s))));
  return medians;
}

void row(Contest& c, const std::string& operation, std::size_t bytes, std::vector<Contestant> contestants) {
  c.ours->settle(contestants.front().call);
  for (const bool rewrite : {true, false}) {
    const double before = c.limits != nullptr ? bench::largest(MPI_COMM_WORLD, c.limits->flag_round_trip()) : 0;
    const auto us = measure(c, contestants, bytes / sizeof(float), bytes, rewrite);
    const double after = c.limits != nullptr ? bench::largest(MPI_COMM_WORLD, c.limits->flag_round_trip()) : 0;
    if (c.rank != 0) continue;
    const char* regime = c.limits == nullptr                     ? "shared"
                         : std::max(before, after) < near_limit  ? "near"
                         : std::min(before, after) >= near_limit ? "far"
                                                                 : "mixed";
    for (std::size_t i = 1; i < us.size(); ++i) {
      bench::Row r{"node",
                   fmt::format("{} ranks={} bytes={} memory={}{}", operation, c.ranks, bytes, c.memory,
                               c.through == "node" ? "" : " through=" + c.through),
                   "time",
                   us[0],
                   "us",
                   bench::Better::smaller,
                   bench::Peer{contestants[i].name, us[i]}};
      r.fields["bytes"] = bytes;
      r.fields["regime"] = regime;
      r.fields["buffers"] = rewrite ? "rewritten" : "unmodified";
      r.fields["flag_us"] = std::max(before, after);
      c.rows->write(r);
    }
  }
}

void check(Status s) {
  if (s == Status::ok) return;
  std::fprintf(stderr, "%s\n", message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void sweep(Contest& c, const std::vector<std::string>& operations, std::size_t smallest, std::size_t largest) {
  Ours& o = *c.ours;
  const auto wanted = [&](const char* name) {
    return operations.empty() || std::find(operations.begin(), operations.end(), name) != operations.end();
  };
  if (wanted("barrier"))
    row(c, "barrier", 0, {{"ours", [&] { o.barrier(); }}, {c.peer, [] { MPI_Barrier(MPI_COMM_WORLD); }}});
  for (std::size_t bytes = smallest; bytes <= largest; bytes *= bytes < 1024         ? 128
                                                                : bytes < 65536      ? 64
                                                                : bytes < (1 << 20)  ? 16
                                                                : bytes < (16 << 20) ? 16
                                                                                     : 4) {
    const std::size_t n = bytes / sizeof(float);
    const int count = static_cast<int>(n), block = static_cast<int>(bytes / static_cast<std::size_t>(c.ranks));
    if (wanted("allreduce")) {
      std::vector<Contestant> all{
          {"ours", [&] { o.allreduce(c.in, c.out, n); }, c.out},
          {c.peer, [&] { MPI_Allreduce(c.in, c.out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }, c.out}};
      if (c.limits != nullptr && c.memory == "mapped") {
        all.push_back({"limit, streaming", [&] { c.limits->allreduce_mapped(n, true); }, c.limits->output(), true});
        all.push_back({"limit, plain", [&] { c.limits->allreduce_mapped(n, false); }, c.limits->output(), true});
      }
      if (c.limits != nullptr && c.memory == "private") {
        all.push_back({"limit, streaming", [&] { c.limits->allreduce_staged(n, true); }, c.limits->output(), true});
        all.push_back({"limit, plain", [&] { c.limits->allreduce_staged(n, false); }, c.limits->output(), true});
      }
      row(c, "allreduce", bytes, all);
    }
    if (wanted("bcast")) {
      std::vector<Contestant> all{{"ours", [&] { o.bcast(c.in, n); }, c.in},
                                  {c.peer, [&] { MPI_Bcast(c.in, count, MPI_FLOAT, 0, MPI_COMM_WORLD); }, c.in}};
      if (c.limits != nullptr && c.memory == "mapped")
        all.push_back({"limit", [&] { c.limits->bcast_mapped(bytes); }, c.limits->output(), true});
      row(c, "bcast", bytes, all);
    }
    if (wanted("reduce"))
      row(c, "reduce", bytes,
          {{"ours", [&] { o.reduce(c.in, c.out, n); }, c.out},
           {c.peer, [&] { MPI_Reduce(c.in, c.out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }, c.out}});
    if (wanted("allgather") && block > 0)
      row(c, "allgather", bytes,
          {{"ours", [&] { o.allgather(c.in, c.out, static_cast<std::size_t>(block)); }, c.out},
           {c.peer, [&] { MPI_Allgather(c.in, block, MPI_BYTE, c.out, block, MPI_BYTE, MPI_COMM_WORLD); }, c.out}});
    if (wanted("alltoall") && block > 0)
      row(c, "alltoall", bytes,
          {{"ours", [&] { o.alltoall(c.in, c.out, static_cast<std::size_t>(block)); }, c.out},
           {c.peer, [&] { MPI_Alltoall(c.in, block, MPI_BYTE, c.out, block, MPI_BYTE, MPI_COMM_WORLD); }, c.out}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("collectives between ranks of one node");
  std::string json, memory = "both";
  std::vector<std::string> operations;
  std::size_t smallest = 8, largest = std::size_t{64} << 20, repeats = 0, kernel = 0, slot = node::GroupOptions{}.slot;
  std::string stores = "measured", through = "node";
  app.add_option("--json", json, "file to append rows to");
  app.add_option("--operations", operations, "some of barrier, bcast, reduce, allreduce, allgather, alltoall")
      ->delimiter(',');
  app.add_option("--memory", memory, "private, mapped or both")->check(CLI::IsMember({"private", "mapped", "both"}));
  app.add_option("--smallest", smallest, "bytes");
  app.add_option("--largest", largest, "bytes");
  app.add_option("--repeats", repeats, "iterations a row; 0: by length");
  app.add_option("--kernel", kernel,
                 "private blocks from so many bytes on are copied by the kernel; 0: the library's own rule");
  app.add_option("--slot", slot, "bytes of a slot");
  app.add_option("--through", through,
                 "node: src/node itself; api: what the C API chooses, check = 0; check: the same with check = 1")
      ->check(CLI::IsMember({"node", "api", "check"}));
  app.add_option("--stores", stores, "plain, streaming or measured")
      ->check(CLI::IsMember({"plain", "streaming", "measured"}));
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  {
    Contest c;
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
    c.repeats = repeats;
    c.peer = bench::mpi_version();
    std::unique_ptr<carrier::Carrier> carrier;
    check(carrier::make_mpi_carrier(MPI_COMM_WORLD, {}, &carrier));
    node::CarrierExchange exchange(*carrier);
    node::Options options;
    if (kernel > 0) options.kernel = options.kernel_streams = kernel;
    options.group.slot = slot;
    std::unique_ptr<node::Collectives> made;
    check(node::Collectives::create(exchange, options, &made));
    if (stores != "measured") made->use(stores == "plain" ? node::Stores::plain : node::Stores::streaming);
    std::unique_ptr<Ours> ours;
    if (through == "node")
      ours = std::make_unique<Direct>(*made);
    else
      ours = std::make_unique<Api>(through == "check");
    c.ours = ours.get();
    c.through = through;
    std::optional<bench::Limits> limits;
    if (c.ranks == 2) limits.emplace(exchange, largest);
    c.limits = limits ? &*limits : nullptr;
    bench::Writer rows(c.rank == 0 ? json : "/dev/null");
    c.rows = &rows;
    const std::size_t room = largest + 4096;
    for (const std::string kind : {"private", "mapped"}) {
      if (memory != "both" && memory != kind) continue;
      c.memory = kind;
      std::vector<float> in, out;
      if (kind == "private") {
        in.assign(room / sizeof(float), 1);
        out.assign(room / sizeof(float), 0);
        c.in = in.data(), c.out = out.data();
      } else {
        c.in = static_cast<float*>(node::arena::allocate(room, 64));
        c.out = static_cast<float*>(node::arena::allocate(room, 64));
        if (c.in == nullptr || c.out == nullptr) check(fail(Status::out_of_memory, "no room in the arena"));
        std::fill_n(c.in, room / sizeof(float), 1.0f);
        std::fill_n(c.out, room / sizeof(float), 0.0f);
      }
      sweep(c, operations, smallest, largest);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
}
