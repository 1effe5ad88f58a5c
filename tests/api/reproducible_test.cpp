// Sums that are asked to be reproducible are one contribution after the other, in the order of the ranks.
#include <cstring>
#include <string>

#include "../one_by_one.hpp"
#include "ranks.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

template <class T>
bool same(const std::vector<T>& a, const T* b) {
  return std::memcmp(a.data(), b, a.size() * sizeof(T)) == 0;
}

stretto_options reproducible() {
  stretto_options o = defaults();
  o.reproducible = 1;
  return o;
}

constexpr std::size_t kSummedLengths[] = {1, 7, 1000, 40000};

}  // namespace

TEST(Reproducible, SumsAddContributionsOneByOneInRankOrder) {
  for (const int ranks : {1, 2, 3, 4, 6, 9}) {
    on_ranks(ranks, [](stretto_comm comm, int rank, int p) {
      const stretto_options o = reproducible();
      for (const std::size_t n : kSummedLengths) {
        SCOPED_TRACE(testing::Message() << n << " elements on " << p << " ranks");
        const std::vector<float> mine = rough<float>(rank, n), all = one_by_one<float>(p, n);
        std::vector<float> got(n);
        ASSERT_STRETTO_OK(stretto_allreduce(mine.data(), got.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_TRUE(same(all, got.data()));
        got = mine;
        ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, got.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_TRUE(same(all, got.data()));
        for (int root = 0; root < p; root += 2) {
          ASSERT_STRETTO_OK(stretto_reduce(mine.data(), got.data(), n, STRETTO_F32, STRETTO_SUM, root, comm, &o));
          EXPECT_TRUE(rank != root || same(all, got.data())) << "root " << root;
        }
        const std::size_t blocks = n * static_cast<std::size_t>(p), own = n * static_cast<std::size_t>(rank);
        const std::vector<double> many = rough<double>(rank, blocks), total = one_by_one<double>(p, blocks);
        std::vector<double> block(n);
        ASSERT_STRETTO_OK(
            stretto_reduce_scatter_block(many.data(), block.data(), n, STRETTO_F64, STRETTO_SUM, comm, &o));
        EXPECT_EQ(std::memcmp(total.data() + own, block.data(), n * sizeof(double)), 0);
      }
    });
  }
}

TEST(Reproducible, SumsOfUnequalBlocksAndStartedOnesAreSo) {
  on_ranks(5, [](stretto_comm comm, int rank, int p) {
    const stretto_options o = reproducible();
    std::vector<std::size_t> counts(static_cast<std::size_t>(p), 3);
    counts[1] = 90000;  // so much more that a ring would be the way
    const std::size_t n = 90000 + 3 * 4, at = rank < 2 ? 3 * static_cast<std::size_t>(rank)
                                                       : 90000 + 3 * (static_cast<std::size_t>(rank) - 1);
    const std::vector<float> mine = rough<float>(rank, n), all = one_by_one<float>(p, n);
    std::vector<float> got(n);
    ASSERT_STRETTO_OK(
        stretto_reduce_scatter(mine.data(), got.data(), counts.data(), STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_EQ(std::memcmp(all.data() + at, got.data(), counts[static_cast<std::size_t>(rank)] * sizeof(float)), 0);
    stretto_request request = nullptr;
    ASSERT_STRETTO_OK(stretto_iallreduce(mine.data(), got.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o, &request));
    ASSERT_STRETTO_OK(stretto_wait(request));
    ASSERT_STRETTO_OK(stretto_request_free(&request));
    EXPECT_TRUE(same(all, got.data()));
  });
}

TEST(Reproducible, SumsWithinABoundAreOfCodesWhateverTheyGain) {
  on_ranks(4, [](stretto_comm comm, int rank, int) {
    for (const std::size_t n : {std::size_t{5}, std::size_t{5000}}) {
      const std::vector<float> mine = rough<float>(rank, n);
      std::vector<float> chosen(n), forced(n);
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-3);
      o.payload = STRETTO_PAYLOAD_HOMOMORPHIC;
      ASSERT_STRETTO_OK(stretto_allreduce(mine.data(), forced.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      o.payload = STRETTO_PAYLOAD_AUTO;
      o.reproducible = 1;
      o.report = &report;
      ASSERT_STRETTO_OK(stretto_allreduce(mine.data(), chosen.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_STREQ(report.payload, "fused");
      EXPECT_TRUE(same(forced, chosen.data()));
    }
  });
}

// Integers have one sum, and what only moves has none.
TEST(Reproducible, OnlyBoundedFloatingReductionsAlwaysAddCodes) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const auto run = [&](int reproducible_too, auto&& call) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-3);
      o.reproducible = reproducible_too;
      o.report = &report;
      EXPECT_EQ(call(&o), STRETTO_OK) << stretto_message();
      return std::string(report.payload);
    };
    std::vector<std::int32_t> i(5, rank), j(5);
    std::vector<float> x(5, 1), y(15);
    const auto sum = [&](const stretto_options* o) {
      return stretto_allreduce(i.data(), j.data(), 5, STRETTO_I32, STRETTO_SUM, comm, o);
    };
    const auto gather = [&](const stretto_options* o) {
      return stretto_allgather(x.data(), y.data(), 5, STRETTO_F32, comm, o);
    };
    const auto bcast = [&](const stretto_options* o) { return stretto_bcast(x.data(), 5, STRETTO_F32, 1, comm, o); };
    EXPECT_EQ(run(1, sum), run(0, sum));
    EXPECT_EQ(run(1, gather), "raw");
    EXPECT_EQ(run(1, bcast), "raw");
  });
}

TEST(Reproducible, FloatReductionsRefuseScheduleDependentRounding) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const std::vector<float> x(15, static_cast<float>(rank));
    std::vector<float> y(15);
    const std::vector<std::int32_t> i(5, rank);
    std::vector<std::int32_t> j(5);
    const std::size_t counts[] = {2, 1, 2};
    for (const stretto_payload p : {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P}) {
      stretto_options o = bounded(1e-3);
      o.reproducible = 1;
      o.payload = p;
      const std::size_t own = counts[rank];
      ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), 5, STRETTO_F32, comm, &o));
      EXPECT_NEAR(y[14], 2, 1e-3);
      ASSERT_STRETTO_OK(stretto_bcast(y.data(), 5, STRETTO_F32, 1, comm, &o));
      ASSERT_STRETTO_OK(stretto_scatter(x.data(), y.data(), 5, STRETTO_F32, 1, comm, &o));
      ASSERT_STRETTO_OK(stretto_gather(x.data(), y.data(), 5, STRETTO_F32, 1, comm, &o));
      ASSERT_STRETTO_OK(stretto_scatterv(x.data(), counts, nullptr, y.data(), own, STRETTO_F32, 1, comm, &o));
      ASSERT_STRETTO_OK(stretto_gatherv(x.data(), own, y.data(), counts, nullptr, STRETTO_F32, 1, comm, &o));
      ASSERT_STRETTO_OK(stretto_alltoall(x.data(), y.data(), 5, STRETTO_F32, comm, &o));
      ASSERT_STRETTO_OK(stretto_allreduce(i.data(), j.data(), 5, STRETTO_I32, STRETTO_SUM, comm, &o));
      EXPECT_EQ(j[4], 3);
      EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 5, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
    }
  });
}

TEST(Reproducible, WhatCannotBeSoIsRefusedAndNamed) {
  on_ranks(3, [](stretto_comm comm, int, int) {
    const std::vector<float> x(10, 1);
    std::vector<float> y(10);
    const auto sum = [&](const stretto_options& o, stretto_type type) {
      return stretto_allreduce(x.data(), y.data(), 10, type, STRETTO_SUM, comm, &o);
    };
    stretto_options o = reproducible();
    o.schedule = "ring";
    EXPECT_EQ(sum(o, STRETTO_F32), STRETTO_UNSUPPORTED);
    EXPECT_NE(std::string(stretto_message()).find("ring"), std::string::npos) << stretto_message();
    EXPECT_EQ(sum(o, STRETTO_I32), STRETTO_OK) << stretto_message();  // whose sums are the same in any order
    o.schedule = "chain";
    EXPECT_EQ(sum(o, STRETTO_F32), STRETTO_OK) << stretto_message();
    for (const stretto_payload p : {STRETTO_PAYLOAD_RECOMPRESS, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_MIXED}) {
      o = bounded(1e-3);
      o.reproducible = 1;
      o.payload = p;
      EXPECT_EQ(sum(o, STRETTO_F32), STRETTO_UNSUPPORTED);
      EXPECT_NE(std::string(stretto_message()).find("reproducible"), std::string::npos) << stretto_message();
    }
  });
}

TEST(Reproducible, IsAgreedOn) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const float x = 1;
    float y = 0;
    stretto_options o = defaults();
    o.reproducible = rank == 1;
    EXPECT_EQ(stretto_allreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INCOMPATIBLE);
    EXPECT_NE(std::string(stretto_message()).find("reproducible differs"), std::string::npos) << stretto_message();
  });
}
