// With a bound, every collective and operation keeps what its report promises.
#include <string>

#include "bounds.hpp"

using namespace api_test;

TEST(Bounds, MeanMinMaxAndDifferenceKeepTheirs) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    std::vector<std::vector<float>> all;
    for (int r = 0; r < ranks; ++r) all.push_back(wave(r, kN));
    for (stretto_op op : {STRETTO_MEAN, STRETTO_MIN, STRETTO_MAX, STRETTO_DIFFERENCE}) {
      std::vector<double> exact(kN);
      for (std::size_t i = 0; i < kN; ++i) {
        double v = all[0][i];
        for (int r = 1; r < ranks; ++r) {
          const double u = all[static_cast<std::size_t>(r)][i];
          v = op == STRETTO_MIN    ? std::min(v, u)
              : op == STRETTO_MAX  ? std::max(v, u)
              : op == STRETTO_MEAN ? v + u
                                   : v - u;
        }
        exact[i] = op == STRETTO_MEAN ? v / ranks : v;
      }
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = bounded(1e-4);
      o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
      o.report = &report;
      std::vector<float> y(kN);
      ASSERT_STRETTO_OK(
          stretto_allreduce(all[static_cast<std::size_t>(rank)].data(), y.data(), kN, STRETTO_F32, op, comm, &o));
      EXPECT_NE(std::string(report.payload), "raw");
      EXPECT_EQ(report.promised_error, op == STRETTO_DIFFERENCE ? ranks * 1e-4 : 1e-4);
      EXPECT_LE(worst(y, exact), report.promised_error) << "operation " << op;
    }
  });
}

TEST(Bounds, MovedDataIsCompressedOnce) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3);
    o.payload = STRETTO_PAYLOAD_FUSED;  // streams, whatever would be chosen here
    o.report = &report;
    const auto p = static_cast<std::size_t>(ranks);
    const auto x = wave(rank, kN);
    std::vector<float> y(kN * p);
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), kN, STRETTO_F32, comm, &o));
    EXPECT_EQ(report.promised_error, 1e-3);
    if (ranks > 1) {
      EXPECT_STREQ(report.payload, "compress_once");
      EXPECT_GT(report.ratio, 2);
    }
    for (int r = 0; r < ranks; ++r) {
      const auto first = y.begin() + static_cast<std::ptrdiff_t>(kN) * r;
      EXPECT_LE(worst({first, first + kN}, wave(r, kN)), 1e-3);
    }
    auto b = rank == ranks - 1 ? x : std::vector<float>(kN);
    ASSERT_STRETTO_OK(stretto_bcast(b.data(), kN, STRETTO_F32, ranks - 1, comm, &o));
    EXPECT_LE(worst(b, wave(ranks - 1, kN)), 1e-3);
    if (rank == ranks - 1) {
      EXPECT_EQ(b, x);
    }
    std::vector<float> own(kN);
    ASSERT_STRETTO_OK(stretto_scatter(y.data(), own.data(), kN, STRETTO_F32, 0, comm, &o));
    EXPECT_LE(worst(own, wave(rank, kN)), 2e-3);
    std::vector<float> gathered(kN * p);
    ASSERT_STRETTO_OK(stretto_gather(x.data(), gathered.data(), kN, STRETTO_F32, 0, comm, &o));
    for (int r = 0; rank == 0 && r < ranks; ++r) {
      const auto first = gathered.begin() + static_cast<std::ptrdiff_t>(kN) * r;
      EXPECT_LE(worst({first, first + kN}, wave(r, kN)), 1e-3);
    }
    std::vector<float> out(kN * p), in(kN * p);
    for (int d = 0; d < ranks; ++d) std::copy(x.begin(), x.end(), out.begin() + static_cast<std::ptrdiff_t>(kN) * d);
    ASSERT_STRETTO_OK(stretto_alltoall(out.data(), in.data(), kN, STRETTO_F32, comm, &o));
    for (int s = 0; s < ranks; ++s) {
      const auto first = in.begin() + static_cast<std::ptrdiff_t>(kN) * s;
      EXPECT_LE(worst({first, first + kN}, wave(s, kN)), 1e-3);
    }
  });
}

TEST(Bounds, ReduceAndReduceScatterKeepTheirs) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto exact = exact_sums(ranks);
    const auto x = wave(rank, kN);
    stretto_report report = STRETTO_REPORT_INIT;
    stretto_options o = bounded(1e-3);
    o.report = &report;
    std::vector<float> y(kN);
    ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, ranks - 1, comm, &o));
    if (rank == ranks - 1) {
      EXPECT_LE(worst(y, exact), report.promised_error);
    }
    const std::size_t part = kN / static_cast<std::size_t>(ranks), first = part * static_cast<std::size_t>(rank);
    std::vector<float> z(part);
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), z.data(), part, STRETTO_F32, STRETTO_SUM, comm, &o));
    EXPECT_LE(worst(z, std::vector<double>(exact.begin() + static_cast<std::ptrdiff_t>(first),
                                           exact.begin() + static_cast<std::ptrdiff_t>(first + part))),
              report.promised_error);
  });
}
