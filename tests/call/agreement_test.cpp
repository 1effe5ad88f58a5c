// Signatures merge in any order and grouping to the same verdict, which names what differs.
#include "call/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "call/call.hpp"
#include "stretto/stretto.h"

using namespace stretto;
using namespace stretto::call;

namespace {

Signature of(int rank, std::uint64_t count, double lo, double hi) {
  Signature s;
  for (int f = 0; f < kFields; ++f) s.set(static_cast<Field>(f), std::uint64_t{0}, rank);
  s.set(Field::type, std::uint64_t{STRETTO_F32}, rank);
  s.set(Field::op, std::uint64_t{STRETTO_SUM}, rank);
  s.set(Field::count, count, rank);
  s.values = {{lo, hi}, {lo / 2, hi / 2}, count};
  s.contributions = static_cast<std::uint64_t>(rank);
  return s;
}

}  // namespace

TEST(Agreement, MergingIsIndependentOfOrder) {
  std::vector<Signature> all;
  for (int r = 0; r < 6; ++r) all.push_back(of(r, r == 2 || r == 4 ? 9u : 7u, -r, 2.0 * r));
  all[5].set_failure(Status::out_of_memory, "five", 5);
  all[3].set_failure(Status::invalid_bound, "three", 3);
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  Signature first;
  bool have = false;
  do {
    Signature m = all[static_cast<std::size_t>(order[0])];
    for (std::size_t i = 1; i < order.size(); ++i) merge(all[static_cast<std::size_t>(order[i])], m);
    if (!have) first = m;
    have = true;
    ASSERT_EQ(std::memcmp(&m, &first, sizeof m), 0);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(first.values.all.lo, -5);
  EXPECT_EQ(first.values.all.hi, 10);
  EXPECT_EQ(first.values.below.lo, -2.5);
  EXPECT_EQ(first.values.below.hi, 5);
  EXPECT_EQ(first.values.ignored, 4 * 7u + 2 * 9u);
  EXPECT_EQ(first.contributions, 15u);
  EXPECT_EQ(verdict(first, all[0], ""), Status::invalid_bound);
  EXPECT_STREQ(message(), "rank 3: three");
  EXPECT_EQ(verdict(first, all[3], "three"), Status::invalid_bound);
  EXPECT_STREQ(message(), "three");
}

TEST(Agreement, DifferencesNameTheLowestRankOfEachValue) {
  Signature m = of(4, 9, 0, 0);
  for (int r : {3, 0, 2, 1}) merge(of(r, r == 2 ? 9u : 7u, 0, 0), m);
  EXPECT_EQ(verdict(m, of(0, 7, 0, 0), ""), Status::incompatible);
  EXPECT_STREQ(message(), "count differs: 7 on rank 0, 9 on rank 2");
}

TEST(Agreement, NothingDiffersIsOk) {
  Signature m = of(0, 7, 0, 1);
  merge(of(1, 7, 5, 6), m);
  EXPECT_EQ(verdict(m, of(1, 7, 5, 6), ""), Status::ok);
}

TEST(Agreement, DoublesOrderAsNumbersAndComeBack) {
  const double values[] = {-INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-310, 1e-3, 2, 1e300, INFINITY};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(from_ordered(ordered(values[i])), values[i]);
    if (i > 0) {
      EXPECT_LT(ordered(values[i - 1]), ordered(values[i]));
    }
  }
  EXPECT_TRUE(std::isnan(from_ordered(ordered(NAN))));
}

TEST(Agreement, LongMessageIsCompleteOnItsRankAndCutOnOtherRanks) {
  const std::string whole(400, 'x');
  for (const std::size_t length :
       {std::size_t{1}, sizeof(Signature::text) - 1, sizeof(Signature::text), whole.size()}) {
    const std::string said = whole.substr(0, length);
    Signature failed = of(0, 1, 0, 0), other = of(1, 1, 0, 0);
    failed.set_failure(Status::internal, said.c_str(), 0);
    merge(failed, other);
    EXPECT_EQ(verdict(other, failed, said.c_str()), Status::internal);
    EXPECT_EQ(message(), said);
    EXPECT_EQ(verdict(other, of(1, 1, 0, 0), ""), Status::internal);
    const std::size_t room = sizeof(Signature::text) - 1;
    EXPECT_EQ(message(), "rank 0: " + (length <= room ? said : whole.substr(0, room - 3) + "..."));
  }
}
