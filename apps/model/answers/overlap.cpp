#include "overlap.hpp"

#include <fmt/core.h>

#include "model/split_tree.hpp"
#include "model/walk/clock.hpp"

namespace stretto::app {
namespace {

using schedule::Collective;

// Walks of the binomial tree that the library runs, in transfers of an edge next to the leaves.
class Walked {
 public:
  explicit Walked(model::Edges edges) : blocks_(edges == model::Edges::double_) {
    for (model::Link& link : machine_.links) link = {blocks_ ? model::Span{.beta = 1} : model::Span{.alpha = 1}};
    machine_.nics = 0;
  }

  double time(int ranks, int comm_cores, int split, double work) const {
    const Collective collective = blocks_ ? Collective::gather : Collective::reduce;
    schedule::Request request;
    request.collective = collective;
    request.ranks = ranks;
    request.split = split;
    model::Programs programs;
    check(model::make_programs(*schedule::find(collective, "binomial"), request,
                               topology::Topology::regular(ranks, ranks), {.allowed = false}, &programs));
    const double bytes = ranks;
    return model::predict(programs, {}, machine_, {.bytes = bytes, .comm_cores = comm_cores, .work = work}).seconds;
  }

 private:
  bool blocks_;
  model::Machine machine_;
};

int best_of(const std::vector<double>& times) {
  std::size_t best = 0;
  for (std::size_t split = 1; split < times.size(); ++split)
    if (times[split] < times[best] * (1 - 1e-9)) best = split;
  return static_cast<int>(best);
}

}  // namespace

Json overlap(const Overlap& asked, const Study& study) {
  if (asked.edges != "alike" && asked.edges != "double")
    throw Problem(fmt::format("edges '{}' are neither alike nor double", asked.edges));
  if (asked.most < 0 || asked.most > 30) throw Problem(fmt::format("{} levels; from 0 to 30", asked.most));
  if (asked.cores < 2 || asked.cores > 4096) throw Problem(fmt::format("{} cores; from 2 to 4096", asked.cores));
  const model::Edges edges = asked.edges == "alike" ? model::Edges::alike : model::Edges::double_;
  const model::SplitTree tree{asked.cores, edges};
  const Walked walked(edges);
  std::vector<int> ranks = study.ranks;
  if (ranks.empty())
    for (int n = asked.cores / 2; n < asked.cores; ++n) ranks.push_back(n);
  Json rows = Json::array();
  for (const int n : ranks) {
    check(tree.check(n));
    std::vector<double> closed, times;
    for (int split = 0; split <= asked.most; ++split) {
      closed.push_back(tree.overlapped(n, split));
      times.push_back(walked.time(n, asked.cores - n, split, tree.work(n)));
    }
    rows.push_back({{"ranks", n},
                    {"comm_cores", asked.cores - n},
                    {"blocking", tree.blocking(n) + tree.work(n)},
                    {"overlapped", times},
                    {"best", best_of(times)},
                    {"closed", closed},
                    {"closed_best", tree.best(n, asked.most)}});
  }
  return {{"study", "overlap"}, {"cores", asked.cores}, {"edges", asked.edges}, {"rows", rows}};
}

std::string overlap_text(const Json& r) {
  std::string text = fmt::format(
      "a split tree and work on {} cores: times in transfers of an edge, by the levels that run before the work\n"
      "{:>8} {:>10} {:>12}",
      r["cores"].get<int>(), "ranks", "comm cores", "no overlap");
  const std::size_t splits = r["rows"].empty() ? 0 : r["rows"][0]["overlapped"].size();
  for (std::size_t split = 0; split < splits; ++split) text += fmt::format(" {:>8}", fmt::format("S={}", split));
  text += "   best, by the closed form\n";
  for (const Json& row : r["rows"]) {
    text += fmt::format("{:>8} {:>10} {:>12.3f}", row["ranks"].get<int>(), row["comm_cores"].get<int>(),
                        row["blocking"].get<double>());
    for (const Json& time : row["overlapped"]) text += fmt::format(" {:>8.3f}", time.get<double>());
    text += fmt::format("    S={}    S={}\n", row["best"].get<int>(), row["closed_best"].get<int>());
  }
  return text;
}

}  // namespace stretto::app
