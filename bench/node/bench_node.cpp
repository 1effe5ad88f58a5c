// Collectives between ranks of one node: stretto's against the MPI's own and against the machine's limits, in one run,
// row by row.
//
// Ranks should be bound, two of them to two cores (make bench-node does so). In each row the contestants alternate, so
// that they see the same conditions. Each has its own buffers and two untimed calls first, so that it finds its own
// cache state. Inputs are rewritten and outputs read between iterations unless buffers=unmodified. The flag's round
// trip is taken before and after each row: `regime` is near, far, remote or mixed by it (regime.hpp), and only rows of
// one regime are comparable.
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <optional>

#include <CLI/CLI.hpp>

#include "bench/node/limits.hpp"
#include "bench/node/ours.hpp"
#include "bench/node/regime.hpp"
#include "modules/mpi/carrier.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/collectives.hpp"
#include "timing/mpi.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;  // NOLINT: a program

struct Contest {
  int rank = 0, ranks = 1;
  bench::Ours* ours = nullptr;
  bench::Limits* limits = nullptr;  // with two ranks
  timing::Writer* rows = nullptr;
  float *in = nullptr, *out = nullptr;          // ours
  float *mpi_in = nullptr, *mpi_out = nullptr;  // the MPI's
  std::size_t repeats = 0;
  bool by_kernel = false;  // the kernel copies between the two ranks
  std::string memory, peer, version, through, regime;
};

struct Contestant {
  std::string name;
  std::function<void()> call;
  float* input = nullptr;  // for limits: their own buffer
  const float* output = nullptr;
  std::optional<bench::CopyPath> limit{};
};

// Number of repeats per row: enough for medians of long vectors, and bounded.
std::size_t repeats_for(std::size_t bytes, std::size_t asked) {
  if (asked > 0) return asked;
  return std::clamp<std::size_t>((std::size_t{1} << 28) / std::max<std::size_t>(bytes, 1), 9, 301);
}

volatile float sink = 0;

void rewrite_input(float* in, std::size_t floats, std::size_t k) {
  for (std::size_t j = 0; j < floats; ++j) in[j] = static_cast<float>(k + (j & 1023));
}

void read_output(const Contestant& c, std::size_t floats) {
  float read = 0;
  for (std::size_t j = 0; c.output != nullptr && j < floats; j += 16) read += c.output[j];
  sink = read;
}

// Median microseconds of each contestant, from the first rank's start to the last one's end: ranks that share cores
// start and end one after another, in changing order. Short collectives are timed in batches.
std::vector<double> measure(Contest& c, std::vector<Contestant>& contestants, std::size_t floats, std::size_t bytes,
                            bool rewrite) {
  const std::size_t inner = bytes <= 1024 ? 32 : 1, repeats = repeats_for(bytes, c.repeats);
  std::vector<std::vector<double>> samples(contestants.size());
  for (std::size_t k = 0; k < repeats + 2; ++k) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      for (const bool timed : {false, false, true}) {
        if (rewrite && contestants[i].limit)
          c.limits->rewrite(floats, static_cast<float>(k));
        else if (rewrite)
          rewrite_input(contestants[i].input, floats, k);
        const double ms = timing::span_ms(MPI_COMM_WORLD, [&] {
          for (std::size_t n = 0; n < inner; ++n) contestants[i].call();
        });
        if (rewrite) read_output(contestants[i], floats);
        if (timed && k >= 2) samples[i].push_back(1e3 * ms / static_cast<double>(inner));
      }
    }
  }
  std::vector<double> medians;
  for (auto& s : samples) medians.push_back(timing::median(std::move(s)));
  return medians;
}

// Rows of ours against each other contestant, and against the best of the limits.
void write(Contest& c, const std::string& operation, std::size_t bytes, const std::vector<Contestant>& contestants,
           const std::vector<double>& us, const nlohmann::ordered_json& fields) {
  std::size_t limit = 0;
  for (std::size_t i = 1; i < us.size(); ++i)
    if (contestants[i].limit && (limit == 0 || us[i] < us[limit])) limit = i;
  for (std::size_t i = 1; i < us.size(); ++i) {
    if (contestants[i].limit && i != limit) continue;
    timing::Row r{"node",
                  fmt::format("{} ranks={} bytes={} memory={}{}", operation, c.ranks, bytes, c.memory,
                              c.through == "node" ? "" : " through=" + c.through),
                  "time",
                  us[0],
                  "us",
                  timing::Better::smaller,
                  timing::Peer{contestants[i].name, us[i]},
                  fields};
    if (contestants[i].limit) r.fields["limit_by"] = bench::name(*contestants[i].limit);
    c.rows->write(r);
  }
}

// Measures in the requested regime, before and after; repeats if it changed meanwhile.
void row(Contest& c, const std::string& operation, std::size_t bytes, std::vector<Contestant> contestants) {
  const std::size_t floats = bytes / sizeof(float);
  for (const bool rewrite : {true, false}) {
    std::vector<double> us;
    std::string regime = "shared";
    double before = 0, after = 0;
    for (int k = 0; k < 5; ++k) {
      if (c.limits != nullptr) before = bench::await_regime(*c.limits, c.regime);
      if (c.limits != nullptr && c.regime.empty()) before = bench::flag_between(*c.limits);
      us = measure(c, contestants, floats, bytes, rewrite);
      if (c.limits == nullptr) break;
      after = bench::flag_between(*c.limits);
      regime = bench::regime_of(before, after);
      if (c.regime.empty() || regime == c.regime) break;
    }
    if (c.rank != 0) continue;
    write(c, operation, bytes, contestants, us,
          {{"bytes", bytes},
           {"regime", regime},
           {"buffers", rewrite ? "rewritten" : "unmodified"},
           {"flag_us", std::max(before, after)},
           {"mpi", c.version}});
  }
}

void check(Status s) {
  if (s == Status::ok) return;
  std::fprintf(stderr, "%s\n", message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Ours against the MPI's, and with two ranks the limits of such memory.
void contest(Contest& c, bench::Operation operation, std::size_t bytes) {
  using bench::Operation;
  bench::Ours& o = *c.ours;
  const std::size_t n = bytes / sizeof(float), block = bytes / static_cast<std::size_t>(c.ranks);
  const int count = static_cast<int>(n), each = static_cast<int>(block);
  if (block == 0) return;
  std::vector<Contestant> all;
  const auto enter = [&](auto ours, auto mpi) {
    const bool in_place = operation == Operation::bcast;
    all.push_back({"ours", std::move(ours), c.in, in_place ? c.in : c.out});
    all.push_back({c.peer, std::move(mpi), c.mpi_in, in_place ? c.mpi_in : c.mpi_out});
  };
  switch (operation) {
    case Operation::bcast:
      enter([&] { o.bcast(c.in, n); }, [&] { MPI_Bcast(c.mpi_in, count, MPI_FLOAT, 0, MPI_COMM_WORLD); });
      break;
    case Operation::reduce:
      enter([&] { o.reduce(c.in, c.out, n); },
            [&] { MPI_Reduce(c.mpi_in, c.mpi_out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); });
      break;
    case Operation::allreduce:
      enter([&] { o.allreduce(c.in, c.out, n); },
            [&] { MPI_Allreduce(c.mpi_in, c.mpi_out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      break;
    case Operation::allgather:
      enter([&] { o.allgather(c.in, c.out, block); },
            [&] { MPI_Allgather(c.mpi_in, each, MPI_BYTE, c.mpi_out, each, MPI_BYTE, MPI_COMM_WORLD); });
      break;
    case Operation::alltoall:
      enter([&] { o.alltoall(c.in, c.out, block); },
            [&] { MPI_Alltoall(c.mpi_in, each, MPI_BYTE, c.mpi_out, each, MPI_BYTE, MPI_COMM_WORLD); });
      break;
  }
  if (c.limits != nullptr)
    for (const bench::CopyPath path : bench::copy_paths(c.memory == "mapped")) {
      if (bench::combines(path) && !bench::combines(operation)) continue;
      const bool kernel = path == bench::CopyPath::kernel || path == bench::CopyPath::kernel_halves;
      if (kernel && (!c.by_kernel || bytes < 4096)) continue;  // a system call per word says nothing
      all.push_back({"limit", [&c, operation, path, n] { c.limits->run(operation, path, n); }, nullptr,
                     c.limits->output(), path});
    }
  row(c, bench::name(operation), bytes, std::move(all));
}

void sweep(Contest& c, const std::vector<std::string>& operations, std::size_t smallest, std::size_t largest) {
  const auto wanted = [&](const char* name) {
    return operations.empty() || std::find(operations.begin(), operations.end(), name) != operations.end();
  };
  if (wanted("barrier"))
    row(c, "barrier", 0, {{"ours", [&] { c.ours->barrier(); }}, {c.peer, [] { MPI_Barrier(MPI_COMM_WORLD); }}});
  const auto step = [](std::size_t bytes) -> std::size_t {
    return bytes < 1024 ? 128 : bytes < 65536 ? 64 : bytes < (16 << 20) ? 16 : 4;
  };
  for (std::size_t bytes = smallest; bytes <= largest; bytes *= step(bytes))
    for (const auto operation : {bench::Operation::allreduce, bench::Operation::bcast, bench::Operation::reduce,
                                 bench::Operation::allgather, bench::Operation::alltoall})
      if (wanted(bench::name(operation))) contest(c, operation, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("collectives between ranks of one node");
  std::string json, memory = "both";
  std::vector<std::string> operations;
  std::size_t smallest = 8, largest = std::size_t{64} << 20, repeats = 0, kernel = 0, slot = 0;
  std::string stores = "measured", through = "node", regime;
  app.add_option("--json", json, "file to append rows to");
  app.add_option("--operations", operations, "some of barrier, bcast, reduce, allreduce, allgather, alltoall")
      ->delimiter(',');
  app.add_option("--memory", memory, "private, mapped or both")->check(CLI::IsMember({"private", "mapped", "both"}));
  app.add_option("--smallest", smallest, "bytes");
  app.add_option("--largest", largest, "bytes");
  app.add_option("--repeats", repeats, "iterations a row; 0: by length");
  app.add_option("--kernel", kernel,
                 "private blocks from so many bytes on are copied by the kernel; 0: the library's own rule");
  app.add_option("--slot", slot, "bytes of a slot; 0: the library's own rule");
  app.add_option("--through", through,
                 "node: src/node itself; api: what the C API chooses, check = 0; check: the same with check = 1")
      ->check(CLI::IsMember({"node", "api", "check"}));
  app.add_option("--stores", stores, "plain, streaming or measured")
      ->check(CLI::IsMember({"plain", "streaming", "measured"}));
  app.add_option("--regime", regime, "wait for this placement of 2 ranks before each row")
      ->check(CLI::IsMember({"near", "far", "remote"}));
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  {
    Contest c;
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
    c.repeats = repeats;
    c.version = timing::mpi_version();
    c.peer = c.version.substr(0, c.version.find('.'));  // the flavour and its major version
    std::unique_ptr<carrier::Carrier> carrier;
    check(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &carrier));
    node::CarrierExchange exchange(*carrier);
    node::Options options;
    if (kernel > 0) options.kernel = kernel;
    options.group.slot = slot > 0 ? slot : node::slot_for(c.ranks);
    std::unique_ptr<node::Collectives> collectives;
    check(node::Collectives::create(exchange, options, &collectives));
    if (stores != "measured") collectives->use(stores == "plain" ? node::Stores::plain : node::Stores::streaming);
    std::unique_ptr<bench::Ours> ours;
    if (through == "node")
      ours = std::make_unique<bench::Direct>(*collectives);
    else
      ours = std::make_unique<bench::Api>(through == "check");
    c.ours = ours.get();
    c.through = through;
    c.regime = regime;
    std::optional<bench::Limits> limits;
    if (c.ranks == 2) limits.emplace(exchange, largest);
    c.limits = limits ? &*limits : nullptr;
    c.by_kernel = collectives->memory().usable(node::Access::kernel);
    timing::Writer rows(c.rank == 0 ? json : "/dev/null");
    c.rows = &rows;
    const std::size_t room = largest + 4096;
    for (const std::string kind : {"private", "mapped"}) {
      if (memory != "both" && memory != kind) continue;
      c.memory = kind;
      if (limits) limits->use(kind == "mapped");
      std::vector<std::vector<float>> heap;
      for (float** buffer : {&c.in, &c.out, &c.mpi_in, &c.mpi_out}) {
        void* made = nullptr;
        if (kind == "private")
          made = heap.emplace_back(room / sizeof(float)).data();
        else if (through == "node")  // src/node in this program has its own arena, not the library's
          made = node::arena::allocate(room, 64);
        else if (stretto_alloc(room, &made) != STRETTO_OK)
          made = nullptr;
        if (made == nullptr) check(fail(Status::out_of_memory, "no room in the arena"));
        *buffer = static_cast<float*>(made);
        std::fill_n(*buffer, room / sizeof(float), 1.0f);
      }
      sweep(c, operations, smallest, largest);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
}
