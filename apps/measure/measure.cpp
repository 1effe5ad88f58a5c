// Measures the figures of a machine profile (docs/command.md). `stretto tune` and `stretto bench pingpong` start the
// programs and read the events that they print (report.hpp).
//
// Exit status: 0; 1 if a measurement failed, with the rank and its host on standard error; 2 if the arguments are
// wrong.
#include "measure.hpp"
#include "apps/command_line.hpp"

#include <CLI/CLI.hpp>
#include <exception>

#include <fmt/core.h>

#include "costs/parts.hpp"
#include "model/profile/profile.hpp"
#include "regime.hpp"

namespace stretto::measure {
namespace {

struct Options {
  std::vector<Part> parts;
  bool quick = false;
  std::size_t largest = std::size_t{64} << 20;
};

// All ranks see equal arguments; rank 0 reports mistakes.
bool parse(int argc, char** argv, bool speaks, Options* options, int* code) {
  std::vector<std::string> names;
  CLI::App app{
      "Measures what a machine profile is made from, as JSON lines on standard output. `stretto tune` starts it."};
  std::vector<std::string> known;
  for (const Part part : kParts) known.emplace_back(name(part));
  app.add_option("parts", names, "what to measure: " + CLI::detail::join(known, ", "))
      ->required()
      ->check(CLI::IsMember(known));
  app.add_flag("--quick", options->quick, "an eighth of the time, fewer sizes, no repeats: to try things out");
  app.add_option("--largest", options->largest, "largest message of pingpong (64MB, ...)")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  if (!parsed(app, argc, argv, speaks, code)) return false;
  for (const Part part : kParts) {
    if (std::find(names.begin(), names.end(), name(part)) != names.end()) options->parts.push_back(part);
  }
  return true;
}

void run(Part part, const Job& job) {
  switch (part) {
    case Part::pingpong: return pingpong(job);
    case Part::links: return links(job);
    case Part::codec: return codec(job);
    case Part::local: return local(job);
    case Part::engine: return engine(job);
    case Part::native: return native(job);
    case Part::node: return node(job);
    case Part::switches: return switches(job);
    case Part::device: return device(job);
  }
}

void regime(const char* when, const Job& job) {
  const Regime r = probe(job.ranks, job.machine);
  job.report.event({{"event", "regime"}, {"when", when}, {"regime", r.name}, {"round_trip", r.round_trip}});
}

// Reports the ranks' share of their cores, before the first part and after each.
void share(const char* after, const Job& job) {
  job.report.event({{"event", "share"}, {"after", after}, {"share", own_share(job.ranks, job.machine)}});
}

}  // namespace

int measure(int argc, char** argv, const World& world) {
  const double start = now();
  const Ranks ranks(world);
  Options options;
  int code = 0;
  if (!parse(argc, argv, ranks.rank == 0, &options, &code)) return code;
  if (ranks.size < 2) {
    fmt::print(stderr, "stretto-measure: 1 rank measures no link; start at least 2 (-n 2)\n");
    return 2;
  }
  const Machine machine;
  Report report(ranks.rank == 0);
  const std::string library = world.library();
  const int cores = ranks.from(0, machine.cores());
  report.event({{"event", "machine"},
                {"version", model::kProfileVersion},
                {"host", ranks.names[0]},
                {"carrier", model::name(world.carrier())},
                {"library", library},
                {"profile", model::user_path(ranks.names[0], library)},
                {"ranks", ranks.size},
                {"hosts", ranks.hosts},
                {"cores", cores},
                {"cache", machine.cache()}});
  const Job job{ranks, machine, report, options.quick, options.largest};
  regime("before", job);
  share("", job);
  for (const Part part : options.parts) {
    run(part, job);
    share(name(part), job);
  }
  regime("after", job);
  report.event({{"event", "end"}, {"seconds", now() - start}});
  return 0;
}

}  // namespace stretto::measure
