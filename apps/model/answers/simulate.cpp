#include "simulate.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "../systems.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::app {
namespace {

using model::Run;
using model::System;
using payload::Kind;
using schedule::Collective;

constexpr double kPublishedSegment = 1024.0 * 1024;  // for systems with overlap
constexpr double kOurSegments[] = {0, 262144, 1048576, 4194304};
constexpr std::string_view kPlain[] = {"ring", "rabenseifner", "recursive_doubling"};
constexpr std::string_view kTwoFloors[] = {"hierarchical_ring", "hierarchical_rabenseifner",
                                           "hierarchical_recursive_doubling"};

struct Best {
  double seconds = 0;
  std::string how;
  int walked = 0;
};

// One number of ranks; its schedules are built once for all systems and sizes.
class Job {
 public:
  Job(const Arguments& a, const model::Profile& profile, Collective collective, int ranks)
      : arguments_(a),
        profile_(profile),
        collective_(collective),
        where_(topology_of(a, profile, ranks, std::min(a.per_node, ranks))),
        machine_(machine_of(a, profile, 4, a.ratio)) {}

  // Empty if no schedule of the system can be walked.
  std::optional<Best> best(const std::string& name, double bytes) {
    std::optional<Best> best;
    if (name == "mpi" || name == "ours") {
      for (const std::string_view s : kPlain) {
        const bool uncut = name == "mpi";
        consider(s, {}, bytes, true, uncut ? 1 : std::size(kOurSegments), &best);
        if (!uncut) consider(s, model::system_of(Kind::fused), bytes, true, std::size(kOurSegments), &best);
      }
      if (name == "mpi" || where_.hosts() == where_.ranks()) return best;
      for (const std::string_view s : kTwoFloors)
        consider(s, model::system_of(Kind::fused, true), bytes, true, std::size(kOurSegments), &best);
      return best;
    }
    const PublishedSystem& known = *find_system(name);
    const std::string_view s = collective_ == Collective::allreduce        ? known.allreduce
                               : collective_ == Collective::reduce_scatter ? known.reduce_scatter
                                                                           : known.allgather;
    if (s.empty()) return best;
    const model::Programs* programs = programs_of(s);
    if (programs == nullptr) return best;
    const Run run{bytes, known.overlap ? kPublishedSegment : 0, 0, known.overlap};
    best = {predict(*programs, known.system, machine_, run).seconds, std::string(s), programs->period};
    return best;
  }

 private:
  void consider(std::string_view schedule, const System& system, double bytes, bool overlap, std::size_t segments,
                std::optional<Best>* best) {
    const model::Programs* programs = programs_of(schedule);
    if (programs == nullptr) return;
    for (std::size_t i = 0; i < segments; ++i) {
      if (kOurSegments[i] > 0 && kOurSegments[i] >= bytes / std::max(programs->blocks, 1)) continue;
      const double t = predict(*programs, system, machine_, {bytes, kOurSegments[i], 0, overlap}).seconds;
      if (*best && (*best)->seconds <= t) continue;
      std::string how(schedule);
      if (system.compression != model::Compression::raw) how += system.raw_inside ? " fused, raw inside" : " fused";
      *best = Best{t, how, programs->period};
    }
  }

  const model::Programs* programs_of(std::string_view schedule) {
    const auto found = programs_.find(schedule);
    if (found != programs_.end()) return found->second ? &*found->second : nullptr;
    std::optional<model::Programs> made;
    if (const schedule::Algorithm* a = schedule::find(collective_, schedule)) {
      schedule::Request request;
      request.collective = collective_;
      request.ranks = where_.ranks();
      made.emplace();
      const model::Folding folding{true, arguments_.hosts_per_switch, profile_.cores};
      if (make_programs(*a, request, where_, folding, &*made) != Status::ok) made.reset();
    }
    const auto& kept = programs_.emplace(schedule, std::move(made)).first->second;
    return kept ? &*kept : nullptr;
  }

  const Arguments& arguments_;
  const model::Profile& profile_;
  Collective collective_;
  topology::Topology where_;
  model::Machine machine_;
  std::map<std::string_view, std::optional<model::Programs>> programs_;
};

}  // namespace

Json simulate(const Arguments& a, Study study) {
  std::string from, messages;
  const model::Profile profile = profile_of(a, &from, &messages);
  const Collective collective = collective_of(a);
  if (collective != Collective::allreduce && collective != Collective::reduce_scatter &&
      collective != Collective::allgather) {
    throw Problem(fmt::format("{} is not simulated; allreduce, reduce_scatter and allgather are", a.collective));
  }
  if (study.kind != "weak" && study.kind != "strong")
    throw Problem(fmt::format("study '{}' is none of weak, strong and overlap", study.kind));
  if (study.ranks.empty())
    for (int p = 8; p <= 131072; p *= 2) study.ranks.push_back(p);
  if (study.sizes.empty()) study.sizes = {a.bytes};
  if (study.systems.empty()) {
    study.systems = {"mpi", "ours"};
    for (const PublishedSystem& k : known_systems()) study.systems.emplace_back(k.name);
  }
  for (const std::string& s : study.systems) {
    if (s != "mpi" && s != "ours" && find_system(s) == nullptr)
      throw Problem(fmt::format("system '{}' is none of mpi, ours or those of stretto-model predict --system", s));
  }
  Json rows = Json::array();
  for (const int ranks : study.ranks) {
    // throws the explanation
    if (a.per_node > ranks || a.per_node < 1) (void)topology_of(a, profile, ranks, a.per_node);
    Job job(a, profile, collective, ranks);
    for (const std::string& size : study.sizes) {
      const double whole = static_cast<double>(parse_size(size));
      const double bytes = study.kind == "weak" ? whole : whole / ranks;
      for (const std::string& system : study.systems) {
        const auto begun = std::chrono::steady_clock::now();
        const auto best = job.best(system, bytes);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        Json row{{"system", system}, {"ranks", ranks}, {"bytes", bytes}};
        row["seconds"] = best ? Json(best->seconds) : Json();
        row["schedule"] = best ? Json(best->how) : Json();
        row["walked"] = best ? Json(best->walked) : Json();
        row["took"] = took.count();
        rows.push_back(row);
      }
    }
  }
  return {{"study", study.kind},
          {"collective", schedule::name(collective)},
          {"machine", profile.name},
          {"profile", from},
          {"carrier", a.carrier},
          {"messages", messages},
          {"doubts", profile.doubts},
          {"between_hosts", between_hosts(profile, a.gigabits, (study.ranks.back() - 1) / a.per_node + 1)},
          {"network", network_text(profile.torus.sides)},
          {"per_node", a.per_node},
          {"ratio", a.ratio},
          {"ratio_assumed", !a.ratio_given},
          {"growth", a.growth},
          {"gigabits", a.gigabits},
          {"hosts_per_switch", a.hosts_per_switch},
          {"oversubscription", a.oversubscription},
          {"rows", rows}};
}

std::string simulate_text(const Json& r) {
  std::string text = fmt::format("{} scaling of {}, streams at ratio {:.4g}{}, on {}\n", r["study"].get<std::string>(),
                                 r["collective"].get<std::string>(), r["ratio"].get<double>(),
                                 r["ratio_assumed"].get<bool>() ? " (assumed)" : "", machine_text(r));
  text += fmt::format("{:>8} {:>8}  {:<24} {:>12}  {:>8}  schedule\n", "ranks", "bytes", "system", "time", "walked");
  for (const Json& row : r["rows"]) {
    const bool known = !row["seconds"].is_null();
    text += fmt::format("{:>8} {:>8}  {:<24} {:>12}  {:>8}  {}\n", row["ranks"].get<int>(), size_text(row["bytes"]),
                        row["system"].get<std::string>(), known ? time_text(row["seconds"]) : "-",
                        known ? row["walked"].get<int>() : 0,
                        known ? row["schedule"].get<std::string>() : "none that can be walked");
  }
  return text;
}

}  // namespace stretto::app
