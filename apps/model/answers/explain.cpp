#include "explain.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "../systems.hpp"
#include "../work.hpp"
#include "model/candidates.hpp"
#include "model/decide.hpp"
#include "model/split_tree.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::app {
namespace {

using model::Candidate;
using model::Question;

constexpr std::size_t kMostRows = 12;                         // in the text table
constexpr double kLeastBytes = 8, kMostBytes = 4294967296.0;  // of the size sweep

// The profile for a question's answer.
struct ProfileSource {
  std::string from, messages;
  model::Profile profile;
  explicit ProfileSource(const Arguments& a) : profile(profile_of(a, &from, &messages)) {}
};

Json head(const Arguments& a, const Question& q, const ProfileSource& source) {
  const model::Profile& profile = source.profile;
  Json j;
  j["question"] = to_json(q);
  j["question"]["ratio_assumed"] = !a.ratio_given;
  if (q.dense_ratio > 0) j["question"]["dense_costs"] = profile.dense_f32.empty() ? "estimated" : "profile";
  j["machine"] = profile.name;
  j["profile"] = source.from;
  j["carrier"] = a.carrier;
  j["messages"] = source.messages;
  j["source"] = profile.source;
  j["doubts"] = profile.doubts;
  j["ranks"] = a.ranks;
  j["per_node"] = a.per_node;
  const topology::Topology where = topology_of(a, profile, a.ranks, a.per_node);
  j["network"] = network_text(where.torus());
  j["between_hosts"] = between_hosts(profile, a.gigabits, where.hosts());
  return j;
}

// ", streams at ratio 8 (assumed), dense ones at 12 (costs estimated)"; empty if none may travel.
std::string streams_text(const Json& r) {
  const Json& q = r["question"];
  if (!q["compress"].get<bool>() || r.value("payload", "") == "raw") return "";
  std::string text = fmt::format(", streams at ratio {:.4g}{}", q["ratio"].get<double>(),
                                 q["ratio_assumed"].get<bool>() ? " (assumed)" : "");
  if (q.contains("dense_costs"))
    text += fmt::format(", dense ones at {:.4g}{}", q["dense_ratio"].get<double>(),
                        q["dense_costs"] == "profile" ? "" : " (costs estimated)");
  return text;
}

// ", S=1" for a split tree.
std::string split_text(const Json& candidate) {
  return candidate.contains("split") ? fmt::format(", S={}", candidate["split"].get<int>()) : "";
}

// Name of a choice without segment and number of blocks, for comparing choices.
std::string family(const Candidate& c, schedule::Collective collective) {
  Candidate plain = c;
  plain.raw_below = 0;
  plain.segment = 0;
  plain.blocks = 0;
  plain.lanes = 0;
  return label(plain, collective);
}

// Name of a table's row: a schedule and its payload.
std::string row_of(const Candidate& c, schedule::Collective collective) {
  return c.native ? label(c, collective)
                  : fmt::format("{} {}{}", c.schedule, payload::name(c.payload),
                                c.coding == codec::Coding::dense ? ", dense" : "");
}

// Payloads for a named schedule: the named payload, or else explain's candidates, of which the cheapest is taken.
std::vector<payload::Kind> payloads_of(const Question& q) {
  if (q.payload >= 0) return {static_cast<payload::Kind>(q.payload)};
  if (!q.compress) return {payload::Kind::raw};
  return {payload::Kind::raw, payload::Kind::fused, payload::Kind::homomorphic};
}

// Refuses contradictory options of a started collective on communication cores.
void check_lanes(const Arguments& a, const schedule::Algorithm& algorithm) {
  if (a.comm_cores < 0 || a.comm_cores > 4096)
    throw Problem(fmt::format("{} communication cores; from 0 to 4096", a.comm_cores));
  if (a.split < 0 || a.split > 30) throw Problem(fmt::format("a split of {} levels; from 0 to 30", a.split));
  if (a.comm_cores == 0 && (a.split > 0 || !a.work.empty()))
    throw Problem("a split, and work beside a collective, need --comm-cores");
  if (a.comm_cores > 0 && a.rounds) throw Problem("--no-overlap leaves --comm-cores nothing to do");
  if (a.split > 0 && !algorithm.uses_split)
    throw Problem(fmt::format("{} {} is no tree that splits", schedule::name(algorithm.collective), algorithm.name));
}

// Levels of a tree that the library runs on the ranks' own cores, with a core per rank.
Json split_of(const Arguments& a, const model::Profile& profile, const Question& q, const Candidate& c) {
  const schedule::Algorithm* algorithm = c.native ? nullptr : schedule::find(q.collective, c.schedule);
  if (a.comm_cores < 1 || algorithm == nullptr || !algorithm->uses_split) return {};
  const int hosts = (a.ranks + a.per_node - 1) / a.per_node, radix = algorithm->uses_radix && c.radix > 0 ? c.radix : 2;
  return model::best_split(machine_of(a, profile, q.element, 1), {.collective = q.collective,
                                                                  .bytes = static_cast<double>(q.bytes),
                                                                  .ranks = a.per_node,
                                                                  .hosts = hosts,
                                                                  .comm_cores = std::min(a.comm_cores, a.per_node),
                                                                  .radix = radix});
}

Json seconds_of(const std::vector<Candidate>& all, bool (*wanted)(const Candidate&)) {
  const auto found = std::find_if(all.begin(), all.end(), wanted);
  return found == all.end() ? Json() : Json(found->seconds);
}

}  // namespace

Json predict(const Arguments& a) {
  const ProfileSource source(a);
  const model::Profile& profile = source.profile;
  const topology::Topology where = topology_of(a, profile, a.ranks, a.per_node);
  Question q = question_of(a);
  std::vector<std::pair<model::System, std::string>> ways;
  std::string_view name = a.schedule;
  bool overlap = !a.rounds;
  if (!a.system.empty()) {
    const PublishedSystem* known = find_system(a.system);
    if (known == nullptr) {
      std::string names;
      for (const PublishedSystem& k : known_systems()) names += (names.empty() ? "" : ", ") + std::string(k.name);
      throw Problem(fmt::format("system '{}' is none of {}", a.system, names));
    }
    ways.emplace_back(known->system, a.system);
    overlap = overlap && known->overlap;
    if (name.empty()) {
      if (q.collective == schedule::Collective::allreduce) name = known->allreduce;
      if (q.collective == schedule::Collective::reduce_scatter) name = known->reduce_scatter;
      if (q.collective == schedule::Collective::allgather) name = known->allgather;
      if (name.empty()) throw Problem(fmt::format("system {} has no {}", a.system, schedule::name(q.collective)));
    }
    q.compress = known->system.compression != model::Compression::raw;
    q.ratio = a.ratio;
  } else {
    const auto raw_below = static_cast<double>(q.raw_below);
    for (const payload::Kind kind : payloads_of(q))
      ways.emplace_back(model::system_of(kind, false, kind == payload::Kind::raw ? 0 : raw_below),
                        q.payload >= 0 ? a.payload : payload::name(kind));
  }
  const schedule::Algorithm* algorithm = schedule::find(q.collective, name);
  if (algorithm == nullptr) throw Problem(model::no_schedule(q.collective, name));
  check_lanes(a, *algorithm);
  if (q.raw_below > 0 && (algorithm->uses_groups || algorithm->ranks_differ))
    throw Problem(fmt::format("{} {}, so --raw-below does not hold there", algorithm->name,
                              algorithm->uses_groups ? "groups ranks" : "adds in other brackets on each rank"));
  schedule::Request request;
  request.split = a.split;
  request.collective = q.collective;
  request.ranks = a.ranks;
  request.root = q.root;
  const model::Machine machine = machine_of(a, profile, q.element, q.ratio);
  model::Programs programs;
  // Communication cores are reserved: each rank has its own core.
  const int cores = a.comm_cores > 0 ? a.per_node + a.comm_cores : profile.cores;
  check(make_programs(*algorithm, request, where, {true, a.hosts_per_switch, cores}, &programs));
  const bool row = q.collective == schedule::Collective::alltoall;
  const double bytes = static_cast<double>(q.bytes) * (row ? a.ranks : 1);
  model::Prediction p;
  std::string payload;
  for (const auto& [system, label] : ways) {
    const auto found = predict(programs, system, machine,
                               {.bytes = bytes,
                                .segment = static_cast<double>(q.segment),
                                .overlap = overlap,
                                .comm_cores = a.comm_cores,
                                .work = a.work.empty() ? 0 : parse_time(a.work)});
    if (!payload.empty() && found.seconds >= p.seconds) continue;
    p = found;
    payload = label;
  }
  Json j = head(a, q, source);
  j["schedule"] = algorithm->name;
  j["payload"] = payload;
  j["overlap"] = overlap;
  if (a.comm_cores > 0) j["lanes"] = {{"comm_cores", a.comm_cores}, {"split", a.split}, {"work", a.work}};
  j["seconds"] = p.seconds;
  j["wire_bytes"] = p.wire;
  j["work_seconds"] = p.work;
  j["walked"] = programs.period;
  return j;
}

Json choose(const Arguments& a) {
  const ProfileSource source(a);
  const model::Profile& profile = source.profile;
  const Question q = question_of(a);
  model::Chooser chooser(profile, topology_of(a, profile, a.ranks, a.per_node));
  model::ModelChoice decided;
  check(model::decide(chooser, q, &decided, true));
  Json j = head(a, q, source);
  j["choice"] = to_json(decided.taken, q.collective);
  if (const Json split = split_of(a, profile, q, decided.taken); !split.is_null()) j["choice"]["split"] = split;
  return j;
}

Json explain(const Arguments& a) {
  const ProfileSource source(a);
  const model::Profile& profile = source.profile;
  Question q = question_of(a);
  model::Chooser chooser(profile, topology_of(a, profile, a.ranks, a.per_node));
  std::vector<Candidate> all;
  check(chooser.table(q, &all));
  Json j = head(a, q, source);
  j["candidates"] = Json::array();
  std::set<std::string> rows;
  for (const Candidate& c : all) {
    j["candidates"].push_back(to_json(c, q.collective));
    j["candidates"].back()["first_of_row"] = rows.insert(row_of(c, q.collective)).second;
    if (const Json split = split_of(a, profile, q, c); !split.is_null()) j["candidates"].back()["split"] = split;
  }
  const double mpi = model::Chooser::mpi_seconds(all);
  j["mpi_seconds"] = mpi > 0 ? Json(mpi) : Json();
  model::ModelChoice decided;
  check(model::decide(chooser, q, &decided, true));
  j["taken"] = label(decided.taken, q.collective);
  j["sweep"] = Json::array();
  j["crossovers"] = Json::array();
  if (q.collective == schedule::Collective::barrier) return j;
  std::string last;
  std::uint64_t below = 0;
  for (double bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 2) {
    q.bytes = static_cast<std::uint64_t>(bytes);
    check(chooser.table(q, &all));
    Json point;
    point["bytes"] = q.bytes;
    point["best"] = to_json(all.front(), q.collective);
    check(model::decide(chooser, q, &decided, true));
    point["taken"] = label(decided.taken, q.collective);
    point["native"] =
        seconds_of(all, [](const Candidate& c) { return c.native && c.provider != model::Provider::node; });
    point["raw"] = seconds_of(all, [](const Candidate& c) { return !c.native && c.payload == payload::Kind::raw; });
    point["compressed"] = seconds_of(all, [](const Candidate& c) { return c.payload != payload::Kind::raw; });
    j["sweep"].push_back(point);
    const std::string now = family(decided.taken, q.collective);
    if (!last.empty() && now != last)
      j["crossovers"].push_back({{"below", below}, {"above", q.bytes}, {"from", last}, {"to", now}});
    last = now;
    below = q.bytes;
  }
  return j;
}

Json profiles(const std::string& one) {
  if (!one.empty()) {
    Arguments a;
    a.machine = one;
    return Json::parse(model::to_json(profile_named(a)));
  }
  Json j = Json::array();
  for (const std::string& name : model::shipped()) {
    model::Profile p;
    check(model::shipped(name, &p));
    j.push_back({{"name", p.name}, {"source", p.source}});
  }
  return j;
}

std::string predict_text(const Json& r) {
  std::string lanes;
  if (r.contains("lanes")) {
    const Json& l = r["lanes"];
    lanes = fmt::format(", S={} with {} communication cores{}", l["split"].get<int>(), l["comm_cores"].get<int>(),
                        l["work"] == "" ? "" : " beside work of " + l["work"].get<std::string>());
  }
  return fmt::format(
      "{} {} {} of {}{} on {} ranks, {} a node{}, {}: {} ({} sent by the busiest rank, {} of work there)\n",
      r["question"]["collective"].get<std::string>(), r["schedule"].get<std::string>(), r["payload"].get<std::string>(),
      size_text(r["question"]["bytes"]), streams_text(r), r["ranks"].get<int>(), r["per_node"].get<int>(), lanes,
      machine_text(r), time_text(r["seconds"]), size_text(r["wire_bytes"]), time_text(r["work_seconds"]));
}

std::string choose_text(const Json& r) {
  return fmt::format("{}{}: {}{} on {}\n", r["choice"]["label"].get<std::string>(), split_text(r["choice"]),
                     time_text(r["choice"]["seconds"]), streams_text(r), machine_text(r));
}

std::string explain_text(const Json& r) {
  std::string text = fmt::format("{} of {}{} on {} ranks, {} a node, {}\n\n",
                                 r["question"]["collective"].get<std::string>(), size_text(r["question"]["bytes"]),
                                 streams_text(r), r["ranks"].get<int>(), r["per_node"].get<int>(), machine_text(r));
  const bool known = !r["mpi_seconds"].is_null();
  const double unit = known ? r["mpi_seconds"].get<double>() : r["candidates"].front()["seconds"].get<double>();
  text +=
      fmt::format("{:>12}  {:>11}  one a schedule and payload\n", "predicted", known ? "x the MPI's" : "x the best");
  std::size_t shown = 0, rows = 0;
  for (const Json& c : r["candidates"]) {
    if (!c["first_of_row"].get<bool>()) continue;
    ++rows;
    const bool own = c["native"].get<bool>() && c["label"] == "native";
    if (shown >= kMostRows && !own) continue;
    ++shown;
    const double seconds = c["seconds"];
    text += fmt::format("{:>12}  {:>11.2f}  {}{}\n", time_text(seconds), unit > 0 ? seconds / unit : 1.0,
                        c["label"].get<std::string>(), split_text(c));
  }
  if (shown < rows) text += fmt::format("and {} slower ones (--json)\n", rows - shown);
  const std::string taken = r["taken"];
  text += fmt::format("\nthe library takes {}\n", taken);
  if (taken == "native" && r["candidates"].front()["label"] != "native")
    text += "  (a schedule must take less than 0.75 of its time, and save 20 µs)\n";
  if (!r["sweep"].empty()) text += "\nby size\n";
  for (const Json& c : r["crossovers"]) {
    text += fmt::format("{:>8} to {:<8}  {}  ->  {}\n", size_text(c["below"]), size_text(c["above"]),
                        c["from"].get<std::string>(), c["to"].get<std::string>());
  }
  if (!r["sweep"].empty() && r["crossovers"].empty())
    text += "  always " + r["sweep"].front()["taken"].get<std::string>() + "\n";
  return text;
}

std::string profiles_text(const Json& r) {
  if (r.is_object()) return r.dump(2) + "\n";
  std::string text;
  for (const Json& p : r)
    text += fmt::format("{:<12} {}\n", p["name"].get<std::string>(), p["source"].get<std::string>());
  return text;
}

}  // namespace stretto::app
