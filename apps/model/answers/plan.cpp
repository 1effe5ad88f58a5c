#include "plan.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "model/split_tree.hpp"
#include "schedule/names.hpp"

namespace stretto::app {
namespace {

using schedule::Collective;

// True if a time is shorter by more than rounding.
bool shorter(double a, double b) noexcept { return a < b * (1 - 1e-9); }

class Planner {
 public:
  Planner(const model::Machine& machine, const Work& work, int cores, int most)
      : machine_(machine), work_(work), tree_{cores}, most_(std::min(most, tree_.levels(cores))) {}

  // Seconds of the program, by the levels of each tree that run on the ranks' cores. The smallest best number of levels
  // wins.
  Json row(int ranks) const {
    const double computing = work_.compute * tree_.cores / ranks;
    double blocking = 0, unsplit = 0;  // seconds of blocking calls; of started calls, if they blocked
    std::vector<model::Parts> started(ranks < tree_.cores ? static_cast<std::size_t>(most_) + 1 : 0);  // by split
    const int levels = tree_.levels(ranks);
    const auto add = [&](const TreeCall& call, Collective collective) {
      const std::vector<double> edges = model::edges_of(machine_, {collective, call.bytes, ranks});
      (call.started ? unsplit : blocking) += call.calls * tree_.parts(ranks, levels, edges).before;
      for (std::size_t split = 0; call.started && split < started.size(); ++split) {
        const model::Parts parts = tree_.parts(ranks, static_cast<int>(split), edges);
        started[split].before += call.calls * parts.before;
        started[split].beside += call.calls * parts.beside;
      }
    };
    for (const TreeCall& call : work_.calls) {
      if (call.collective == Collective::allreduce) {
        add(call, Collective::reduce);
        add(call, Collective::bcast);
      } else {
        add(call, call.collective);
      }
    }
    const auto whole = [&](double iteration) { return work_.repeat * (iteration + blocking) + work_.other; };
    Json overlapped = Json::array();
    for (const model::Parts& parts : started)
      overlapped.push_back(whole(parts.before + std::max(computing, parts.beside)));
    const double alone = whole(computing + unsplit);
    std::size_t best = 0;
    for (std::size_t split = 1; split < overlapped.size(); ++split)
      if (shorter(overlapped[split], overlapped[best])) best = split;
    return {{"ranks", ranks},
            {"comm_cores", tree_.cores - ranks},
            {"compute", work_.repeat * computing},
            {"blocking", alone},
            {"overlapped", overlapped},
            {"best", overlapped.empty() ? Json() : Json(best)},
            {"seconds", overlapped.empty() ? Json(alone) : overlapped[best]}};
  }

 private:
  const model::Machine& machine_;
  const Work& work_;
  model::SplitTree tree_;
  int most_;
};

bool measured_inside(const model::Profile& profile) {
  for (const topology::Distance d : {topology::Distance::cache, topology::Distance::socket, topology::Distance::node})
    if (!profile.links[static_cast<std::size_t>(d)].empty()) return true;
  return false;
}

Json to_json(const Work& work) {
  Json calls = Json::array();
  for (const TreeCall& call : work.calls)
    calls.push_back({{"operation", name_of(call)}, {"bytes", call.bytes}, {"calls", call.calls}});
  return {{"compute", work.compute},
          {"other", work.other},
          {"repeat", work.repeat},
          {"calls", calls},
          {"assumed", work.assumed}};
}

std::string work_text(const Json& work) {
  std::string text = fmt::format("{} of work when every core has a rank", time_text(work["compute"]));
  for (const Json& call : work["calls"]) {
    text += fmt::format(", {} of {}", call["operation"].get<std::string>(), size_text(call["bytes"]));
    if (call["calls"] != 1) text += fmt::format(" ({:.6g} times)", call["calls"].get<double>());
  }
  return work["repeat"] == 1 ? text : fmt::format("{}; {} iterations", text, work["repeat"].get<int>());
}

}  // namespace

Json plan(const Arguments& a, const Plan& asked) {
  std::string from, messages;
  const model::Profile profile = profile_of(a, &from, &messages);
  const int cores = asked.cores != 0 ? asked.cores : profile.cores;
  if (cores < 3 || cores > 4096)
    throw Problem(fmt::format("{} cores; from 3 (two ranks and one that communicates) to 4096", cores));
  if (asked.most < 0 || asked.most > 30) throw Problem(fmt::format("{} levels; from 0 to 30", asked.most));
  if (asked.work.empty() == asked.from.empty())
    throw Problem("a plan needs one of --work 'compute 20ms, ireduce 2M, repeat 100' and --from REPORT");
  if (asked.from.empty() && asked.seconds != 0)
    throw Problem(fmt::format("{} seconds are those of a run, which --from names", asked.seconds));
  if (!measured_inside(profile))
    throw Problem(fmt::format("profile '{}' has no times of messages inside a host", profile.name));
  Work work = asked.from.empty() ? parse_work(asked.work) : read_report(asked.from, asked.seconds, cores);
  for (TreeCall& call : work.calls) call.started |= asked.started;
  if (std::none_of(work.calls.begin(), work.calls.end(), [](const TreeCall& call) { return call.started; }))
    throw Problem(
        fmt::format("{} blocks: communication cores hide what is started before the work, as ireduce is; "
                    "--started plans as if all were",
                    name_of(work.calls.front())));
  std::vector<int> ranks = asked.ranks;
  if (ranks.empty())
    for (int n = cores / 2; n <= cores; ++n) ranks.push_back(n);
  const model::Machine machine = machine_of(a, profile, 4, 1);
  const Planner planner(machine, work, cores, asked.most);
  const Json blocking = planner.row(cores);
  Json rows = Json::array(), best = blocking;
  std::set<int> splits;
  for (const int n : ranks) {
    if (n < 1 || n > cores) throw Problem(fmt::format("{} ranks on {} cores; from 1 to as many", n, cores));
    const Json& row = rows.emplace_back(planner.row(n));
    if (!row["best"].is_null()) splits.insert(row["best"].get<int>());
    if (shorter(row["seconds"], best["seconds"])) best = row;
  }
  return {{"cores", cores},       {"machine", profile.name},  {"profile", from},     {"carrier", a.carrier},
          {"messages", messages}, {"doubts", profile.doubts}, {"between_hosts", ""}, {"work", to_json(work)},
          {"splits", splits},     {"blocking", blocking},     {"best", best},        {"rows", rows}};
}

std::string plan_text(const Json& r) {
  const Json &best = r["best"], &blocking = r["blocking"];
  std::string text = fmt::format("{} cores of {}: {}\n", r["cores"].get<int>(), machine_text(r), work_text(r["work"]));
  for (const Json& assumed : r["work"]["assumed"]) text += fmt::format("assumed: {}\n", assumed.get<std::string>());
  const std::string split = best["best"].is_null() ? "" : fmt::format(", S={}", best["best"].get<int>());
  const int comm_cores = best["comm_cores"];
  text += fmt::format("best: {} ranks and {} communication core{}{}: {}; {} ranks and blocking collectives: {}\n",
                      best["ranks"].get<int>(), comm_cores, comm_cores == 1 ? "" : "s", split,
                      time_text(best["seconds"]), blocking["ranks"].get<int>(), time_text(blocking["seconds"]));
  text += fmt::format("{:>8} {:>10} {:>12} {:>12}", "ranks", "comm cores", "work", "no overlap");
  for (const Json& s : r["splits"]) text += fmt::format(" {:>12}", fmt::format("S={}", s.get<int>()));
  text += "   best\n";
  for (const Json& row : r["rows"]) {
    text += fmt::format("{:>8} {:>10} {:>12} {:>12}", row["ranks"].get<int>(), row["comm_cores"].get<int>(),
                        time_text(row["compute"]), time_text(row["blocking"]));
    const bool splits = !row["best"].is_null();
    for (const Json& s : r["splits"])
      text += fmt::format(" {:>12}", splits ? time_text(row["overlapped"][s.get<std::size_t>()]) : "-");
    text += splits ? fmt::format("    S={}\n", row["best"].get<int>()) : "      -\n";
  }
  return text;
}

}  // namespace stretto::app
