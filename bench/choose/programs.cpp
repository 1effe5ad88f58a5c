#include "bench/choose/programs.hpp"

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "bench/choose/verdict.hpp"
#include "timing/mpi.hpp"

namespace stretto::bench {
namespace {

// A communicator for the MPI's functions, and stretto's beside it.
struct Comm {
  MPI_Comm mpi = MPI_COMM_NULL;
  stretto_comm ours = nullptr;
};

class Caller {
 public:
  Caller(float* x, float* y, bool own) : x_(x), y_(y), own_(own) { options_.check = 0; }
  bool own() const noexcept { return own_; }

  void allreduce(const Comm& c, std::uint64_t bytes) {
    if (own_)
      MPI_Allreduce(x_, y_, count(bytes), MPI_FLOAT, MPI_SUM, c.mpi);
    else
      ours([&](auto* o) { return stretto_allreduce(x_, y_, values(bytes), STRETTO_F32, STRETTO_SUM, c.ours, o); });
  }
  void reduce(const Comm& c, std::uint64_t bytes) {
    if (own_)
      MPI_Reduce(x_, y_, count(bytes), MPI_FLOAT, MPI_SUM, 0, c.mpi);
    else
      ours([&](auto* o) { return stretto_reduce(x_, y_, values(bytes), STRETTO_F32, STRETTO_SUM, 0, c.ours, o); });
  }
  void bcast(const Comm& c, std::uint64_t bytes) {
    if (own_)
      MPI_Bcast(x_, count(bytes), MPI_FLOAT, 0, c.mpi);
    else
      ours([&](auto* o) { return stretto_bcast(x_, values(bytes), STRETTO_F32, 0, c.ours, o); });
  }
  void barrier(const Comm& c) {
    if (own_)
      MPI_Barrier(c.mpi);
    else
      ours([&](auto* o) { return stretto_barrier(c.ours, o); });
  }

 private:
  static std::size_t values(std::uint64_t bytes) noexcept { return std::max<std::size_t>(1, bytes / sizeof(float)); }
  static int count(std::uint64_t bytes) noexcept { return static_cast<int>(values(bytes)); }

  template <class Call>
  void ours(const Call& call) {
    if (call(&options_) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }

  float *x_, *y_;
  bool own_;
  stretto_options options_ = STRETTO_OPTIONS_INIT;
};

// A stretto_comm beside an MPI communicator, freed with it.
class Made {
 public:
  explicit Made(MPI_Comm comm) {
    c_.mpi = comm;
    if (stretto_comm_create(comm, &c_.ours) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  ~Made() {
    static_cast<void>(stretto_comm_free(c_.ours));
    MPI_Comm_free(&c_.mpi);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  const Comm& operator*() const noexcept { return c_; }

 private:
  Comm c_;
};

// Rows or columns of the ranks' grid, as square as possible.
MPI_Comm line_of_grid(bool row) {
  int rank = 0, ranks = 1, dims[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dims);
  MPI_Comm line = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, row ? rank / dims[1] : rank % dims[1], rank, &line);
  return line;
}

// A communicator that lives for `times` calls. stretto makes its own from MPI_COMM_WORLD.
void short_lived(Caller& by, std::uint64_t bytes, int times) {
  Comm made;
  if (by.own())
    MPI_Comm_dup(MPI_COMM_WORLD, &made.mpi);
  else if (stretto_comm_create(MPI_COMM_WORLD, &made.ours) != STRETTO_OK)
    throw std::runtime_error(stretto_message());
  for (int k = 0; k < times; ++k) by.allreduce(made, bytes);
  if (by.own())
    MPI_Comm_free(&made.mpi);
  else if (stretto_comm_free(made.ours) != STRETTO_OK)
    throw std::runtime_error(stretto_message());
}

struct Program {
  const char* name;
  std::vector<std::uint64_t> bytes;
  std::function<void(Caller&, std::uint64_t bytes)> run;
};

struct Contestant {
  const char* name;
  Caller caller;
  std::vector<double> ms{};
};

timing::Row row_of(const Calls& calls, const Program& program, std::uint64_t bytes, const ProgramOptions& options,
                   const std::vector<Contestant>& all) {
  const auto interval = [&](std::size_t above, std::size_t below) {
    const Interval i = ratio(all[above].ms, all[below].ms);
    return std::vector<double>{i.low, i.middle, i.high};
  };
  timing::Row r{.bench = "choose",
                .subject = fmt::format("{} {} B p={} {}", program.name, bytes, calls.ranks(), options.place),
                .metric = "ms",
                .value = timing::median(all[2].ms),
                .unit = "ms",
                .better = timing::Better::smaller,
                .peer = timing::Peer{"MPI " + timing::mpi_version(), timing::median(all[0].ms)}};
  r.fields["place"] = options.place;
  r.fields["mpi"] = timing::mpi_version();
  r.fields["ranks"] = calls.ranks();
  r.fields["program"] = program.name;
  r.fields["bytes"] = bytes;
  r.fields["over_mpi"] = interval(2, 0);
  r.fields["again_over_mpi"] = interval(1, 0);
  r.fields["rounds"] = all[0].ms.size();
  return r;
}

void measure(Calls& calls, const Program& program, std::uint64_t bytes, const ProgramOptions& options,
             timing::Writer* rows) {
  const auto caller = [&](bool own) { return Caller(calls.x(), calls.y(), own); };
  std::vector<Contestant> all{{"MPI", caller(true)}, {"MPI again", caller(true)}, {"chosen", caller(false)}};
  double round_ms = 0;
  int times = 1;
  const auto sample = [&](Contestant& c, int n) {
    return calls.sample([&] { program.run(c.caller, bytes); }, n, bytes);
  };
  for (Contestant& c : all)
    for (int k = 0; k < 3; ++k) program.run(c.caller, bytes);
  for (int k = 0; k < 3; ++k) times = Calls::calls_for(sample(all[0], times));
  for (Contestant& c : all) round_ms += sample(c, times) * times;
  const int rounds = std::clamp(static_cast<int>(options.seconds * 1e3 / round_ms), 7, 201);
  std::mt19937 order(1);  // equal on all ranks
  std::vector<std::size_t> turns{0, 1, 2};
  for (int k = 0; k < rounds; ++k) {
    std::shuffle(turns.begin(), turns.end(), order);
    for (const std::size_t i : turns) all[i].ms.push_back(sample(all[i], times));
  }
  if (rows) rows->write(row_of(calls, program, bytes, options, all));
}

}  // namespace

void measure_programs(Calls& calls, stretto_comm world, const ProgramOptions& options, timing::Writer* rows) {
  const Made row(line_of_grid(true)), column(line_of_grid(false));
  const Comm all{MPI_COMM_WORLD, world};
  const std::vector<Program> programs{
      {"grid",
       {8, 1024, 65536},
       [&](Caller& by, std::uint64_t n) {
         by.allreduce(*row, n);
         by.bcast(*column, n);
       }},
      {"alternating",
       {8, 1024, 65536},
       [&](Caller& by, std::uint64_t n) {
         by.allreduce(all, 8);
         by.bcast(all, n);
         by.reduce(all, n / 64);
         by.allreduce(all, n / 8);
         by.barrier(all);
       }},
      {"short-lived, 10 calls", {8, 65536}, [](Caller& by, std::uint64_t n) { short_lived(by, n, 10); }},
      {"short-lived, 1000 calls", {8}, [](Caller& by, std::uint64_t n) { short_lived(by, n, 1000); }},
  };
  for (const Program& program : programs)
    for (const std::uint64_t bytes : program.bytes)
      if (bytes <= options.most) measure(calls, program, bytes, options, rows);
}

}  // namespace stretto::bench
