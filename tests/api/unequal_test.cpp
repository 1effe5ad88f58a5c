// Blocks of very unequal lengths take the way that suits them, unless another one is asked for.
#include <string>

#include "ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t kMuch = std::size_t{1} << 20;

std::string ran(stretto_comm comm, int ranks, std::size_t at_last, std::size_t elsewhere, const char* schedule) {
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options o = defaults();
  o.report = &report;
  o.schedule = schedule;
  std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), elsewhere);
  counts.back() = at_last;
  const int rank = stretto_comm_rank(comm);
  const auto mine = samples<int>(rank, counts[static_cast<std::size_t>(rank)]);
  std::vector<int> all(elsewhere * static_cast<std::size_t>(ranks - 1) + at_last);
  EXPECT_EQ(stretto_allgatherv(mine.data(), all.data(), counts.data(), nullptr, STRETTO_I32, comm, &o), STRETTO_OK)
      << stretto_message();
  std::size_t at = 0;
  for (int r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < counts[static_cast<std::size_t>(r)]; ++i)
      if (all[at++] != sample(r, i)) return "wrong values";
  const std::string gathered = report.algorithm;
  std::vector<int> sum(mine.size());
  EXPECT_EQ(stretto_reduce_scatter(all.data(), sum.data(), counts.data(), STRETTO_I32, STRETTO_SUM, comm, &o),
            STRETTO_OK)
      << stretto_message();
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != ranks * mine[i]) return "wrong sums";
  return gathered + " " + report.algorithm;
}

}  // namespace

TEST(Unequal, OneLongBlockGoesRoundARing) {
  on_ranks(5, [](stretto_comm comm, int, int ranks) {
    EXPECT_EQ(ran(comm, ranks, kMuch, 0, nullptr), "ring ring");
    EXPECT_EQ(ran(comm, ranks, kMuch, 1000, nullptr), "ring ring");
    EXPECT_EQ(ran(comm, ranks, kMuch, 1000, "pairwise"), "pairwise pairwise");
  });
}

TEST(Unequal, ShortVectorsTakeWhatIsQuickForEqualBlocks) {
  on_ranks(5, [](stretto_comm comm, int, int ranks) {
    const std::string equal = ran(comm, ranks, 10, 10, nullptr);
    EXPECT_NE(equal, "ring ring");
    EXPECT_EQ(ran(comm, ranks, 50, 0, nullptr), equal);
  });
}
