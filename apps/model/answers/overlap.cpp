#include "overlap.hpp"

#include <fmt/core.h>

#include "model/split_tree.hpp"

namespace stretto::app {

Json overlap(const Overlap& asked, const Study& study) {
  if (asked.edges != "alike" && asked.edges != "double")
    throw Problem(fmt::format("edges '{}' are neither alike nor double", asked.edges));
  if (asked.most < 0 || asked.most > 30) throw Problem(fmt::format("{} levels; from 0 to 30", asked.most));
  if (asked.cores < 2 || asked.cores > 65536) throw Problem(fmt::format("{} cores; from 2 to 65536", asked.cores));
  const model::SplitTree tree{asked.cores, asked.edges == "alike" ? model::Edges::alike : model::Edges::double_};
  std::vector<int> ranks = study.ranks;
  if (ranks.empty())
    for (int n = asked.cores / 2; n < asked.cores; ++n) ranks.push_back(n);
  Json rows = Json::array();
  for (const int n : ranks) {
    check(tree.check(n));
    Json splits = Json::array();
    for (int split = 0; split <= asked.most; ++split) splits.push_back(tree.overlapped(n, split));
    rows.push_back({{"ranks", n},
                    {"comm_cores", asked.cores - n},
                    {"blocking", tree.blocking(n) + tree.work(n)},
                    {"overlapped", splits},
                    {"best", tree.best(n, asked.most)}});
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
  text += "   best\n";
  for (const Json& row : r["rows"]) {
    text += fmt::format("{:>8} {:>10} {:>12.3f}", row["ranks"].get<int>(), row["comm_cores"].get<int>(),
                        row["blocking"].get<double>());
    for (const Json& time : row["overlapped"]) text += fmt::format(" {:>8.3f}", time.get<double>());
    text += fmt::format("    S={}\n", row["best"].get<int>());
  }
  return text;
}

}  // namespace stretto::app
