// Every collective gives the exact result without a bound, on any number of ranks, root and count, in place or not.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "ranks.hpp"

using namespace api_test;

namespace {

constexpr std::size_t kCounts[] = {0, 1, 5, 1000, 70001};

int sum_of_ranks(int ranks, std::size_t i) {
  int s = 0;
  for (int r = 0; r < ranks; ++r) s += sample(r, i);
  return s;
}

// Element i of rank r's block for rank d, for calls with a block per rank.
int pair_sample(int r, int d, std::size_t i) { return sample(r * 3 + d, i); }

std::vector<int> blocks(int rank, int ranks, std::size_t count) {
  std::vector<int> v(count * static_cast<std::size_t>(ranks));
  for (int d = 0; d < ranks; ++d)
    for (std::size_t i = 0; i < count; ++i) v[static_cast<std::size_t>(d) * count + i] = pair_sample(rank, d, i);
  return v;
}

// Counts that differ by rank, one of them zero, and places with gaps between.
struct Layout {
  std::vector<std::size_t> counts, displs;
  std::size_t sum = 0, end = 0;
  explicit Layout(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      const std::size_t n = static_cast<std::size_t>(r * 5 % 4) * 17;
      counts.push_back(n);
      displs.push_back(end + 2);
      end += n + 2;
      sum += n;
    }
  }
};

}  // namespace

TEST(Collectives, AllreduceSumsEveryElement) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (std::size_t n : kCounts) {
      const auto x = samples<double>(rank, n);
      std::vector<double> y(n, -1), z = x;
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr));
      ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, z.data(), n, STRETTO_F64, STRETTO_SUM, comm, nullptr));
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], sum_of_ranks(ranks, i)) << i;
      EXPECT_EQ(y, z);
    }
  });
}

TEST(Collectives, ReduceSumsAtAnyRoot) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (int root = 0; root < ranks; ++root)
      for (std::size_t n : kCounts) {
        const auto x = samples<std::int64_t>(rank, n);
        std::vector<std::int64_t> y(n, -1), z = x;
        ASSERT_STRETTO_OK(stretto_reduce(x.data(), rank == root ? y.data() : nullptr, n, STRETTO_I64, STRETTO_SUM, root,
                                         comm, nullptr));
        ASSERT_STRETTO_OK(stretto_reduce(rank == root ? STRETTO_IN_PLACE : x.data(), rank == root ? z.data() : nullptr,
                                         n, STRETTO_I64, STRETTO_SUM, root, comm, nullptr));
        if (rank != root) continue;
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], sum_of_ranks(ranks, i)) << i;
        EXPECT_EQ(y, z);
      }
  });
}

TEST(Collectives, ReduceScatterBlockGivesEachRankItsPart) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (std::size_t n : kCounts) {
      const auto x = blocks(rank, ranks, n);
      std::vector<int> y(n, -1), z = x;
      ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), y.data(), n, STRETTO_I32, STRETTO_SUM, comm, nullptr));
      ASSERT_STRETTO_OK(
          stretto_reduce_scatter_block(STRETTO_IN_PLACE, z.data(), n, STRETTO_I32, STRETTO_SUM, comm, nullptr));
      for (std::size_t i = 0; i < n; ++i) {
        int s = 0;
        for (int r = 0; r < ranks; ++r) s += pair_sample(r, rank, i);
        ASSERT_EQ(y[i], s) << i;
        ASSERT_EQ(z[i], s) << i;
      }
    }
  });
}

TEST(Collectives, ReduceScatterTakesCountsOfItsOwn) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const Layout l(ranks);
    const auto x = samples<float>(rank, l.sum);
    const std::size_t own = l.counts[static_cast<std::size_t>(rank)];
    const std::size_t first = std::accumulate(l.counts.begin(), l.counts.begin() + rank, std::size_t{0});
    std::vector<float> y(own, -1), z = x;
    ASSERT_STRETTO_OK(
        stretto_reduce_scatter(x.data(), y.data(), l.counts.data(), STRETTO_F32, STRETTO_SUM, comm, nullptr));
    ASSERT_STRETTO_OK(
        stretto_reduce_scatter(STRETTO_IN_PLACE, z.data(), l.counts.data(), STRETTO_F32, STRETTO_SUM, comm, nullptr));
    for (std::size_t i = 0; i < own; ++i) {
      ASSERT_EQ(y[i], sum_of_ranks(ranks, first + i));
      ASSERT_EQ(z[i], y[i]);
    }
  });
}

TEST(Collectives, AllgatherCollectsEveryBlock) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (std::size_t n : kCounts) {
      const auto x = samples<std::int16_t>(rank, n);
      std::vector<std::int16_t> y(n * static_cast<std::size_t>(ranks), -1), z = y;
      std::copy(x.begin(), x.end(), z.begin() + static_cast<std::ptrdiff_t>(n) * rank);
      ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), n, STRETTO_I16, comm, nullptr));
      ASSERT_STRETTO_OK(stretto_allgather(STRETTO_IN_PLACE, z.data(), n, STRETTO_I16, comm, nullptr));
      for (int r = 0; r < ranks; ++r)
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<std::size_t>(r) * n + i], sample(r, i));
      EXPECT_EQ(y, z);
    }
  });
}

TEST(Collectives, AllgathervWritesNothingBetweenBlocks) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const Layout l(ranks);
    const auto x = samples<int>(rank, l.counts[static_cast<std::size_t>(rank)]);
    std::vector<int> y(l.end + 2, -7), z(l.end + 2, -7), expected(l.end + 2, -7);
    for (std::size_t r = 0; r < l.counts.size(); ++r)
      for (std::size_t i = 0; i < l.counts[r]; ++i) expected[l.displs[r] + i] = sample(static_cast<int>(r), i);
    std::copy(x.begin(), x.end(), z.begin() + static_cast<std::ptrdiff_t>(l.displs[static_cast<std::size_t>(rank)]));
    ASSERT_STRETTO_OK(
        stretto_allgatherv(x.data(), y.data(), l.counts.data(), l.displs.data(), STRETTO_I32, comm, nullptr));
    ASSERT_STRETTO_OK(
        stretto_allgatherv(STRETTO_IN_PLACE, z.data(), l.counts.data(), l.displs.data(), STRETTO_I32, comm, nullptr));
    EXPECT_EQ(y, expected);
    EXPECT_EQ(z, expected);
    std::vector<int> packed(l.sum, -7), packed_expected;
    for (int r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < l.counts[static_cast<std::size_t>(r)]; ++i) packed_expected.push_back(sample(r, i));
    ASSERT_STRETTO_OK(
        stretto_allgatherv(x.data(), packed.data(), l.counts.data(), nullptr, STRETTO_I32, comm, nullptr));
    EXPECT_EQ(packed, packed_expected);
  });
}

TEST(Collectives, BcastCopiesFromAnyRoot) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (int root = 0; root < ranks; ++root)
      for (std::size_t n : kCounts) {
        auto x = rank == root ? samples<std::uint8_t>(root, n) : std::vector<std::uint8_t>(n, 99);
        ASSERT_STRETTO_OK(stretto_bcast(x.data(), n, STRETTO_U8, root, comm, nullptr));
        EXPECT_EQ(x, samples<std::uint8_t>(root, n));
      }
  });
}

TEST(Collectives, ScatterAndGatherMoveEachBlock) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (int root = 0; root < ranks; ++root)
      for (std::size_t n : kCounts) {
        const auto all = blocks(root, ranks, n);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(n) * rank;
        const std::vector<int> own(first, first + static_cast<std::ptrdiff_t>(n));
        const bool at_root = rank == root;
        std::vector<int> x(n, -1), y(at_root ? all.size() : 0, -1), z = at_root ? all : std::vector<int>{};
        ASSERT_STRETTO_OK(
            stretto_scatter(at_root ? all.data() : nullptr, x.data(), n, STRETTO_I32, root, comm, nullptr));
        EXPECT_EQ(x, own);
        std::fill(x.begin(), x.end(), -1);
        ASSERT_STRETTO_OK(stretto_scatter(at_root ? all.data() : nullptr, at_root ? STRETTO_IN_PLACE : x.data(), n,
                                          STRETTO_I32, root, comm, nullptr));
        if (!at_root) {
          EXPECT_EQ(x, own);
        }
        ASSERT_STRETTO_OK(
            stretto_gather(own.data(), at_root ? y.data() : nullptr, n, STRETTO_I32, root, comm, nullptr));
        if (at_root) {
          EXPECT_EQ(y, all);
        }
        for (std::size_t i = 0; at_root && i < z.size(); ++i)
          if (i / n != static_cast<std::size_t>(root)) z[i] = -1;
        ASSERT_STRETTO_OK(stretto_gather(at_root ? STRETTO_IN_PLACE : own.data(), at_root ? z.data() : nullptr, n,
                                         STRETTO_I32, root, comm, nullptr));
        if (at_root) {
          EXPECT_EQ(z, all);
        }
      }
  });
}

TEST(Collectives, ScattervAndGathervNeedCountsAtTheRootAlone) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const Layout l(ranks);
    const std::size_t n = l.counts[static_cast<std::size_t>(rank)];
    for (int root = 0; root < ranks; ++root) {
      const bool at_root = rank == root;
      const std::size_t* given = at_root ? l.counts.data() : nullptr;
      const std::size_t* places = at_root ? l.displs.data() : nullptr;
      std::vector<float> all(l.end + 2, -7), back(l.end + 2, -7), x(n, -1);
      for (std::size_t r = 0; r < l.counts.size(); ++r)
        for (std::size_t i = 0; i < l.counts[r]; ++i)
          all[l.displs[r] + i] = static_cast<float>(sample(static_cast<int>(r), i));
      ASSERT_STRETTO_OK(stretto_scatterv(at_root ? all.data() : nullptr, given, places, x.data(), n, STRETTO_F32, root,
                                         comm, nullptr));
      EXPECT_EQ(x, samples<float>(rank, n));
      ASSERT_STRETTO_OK(stretto_gatherv(x.data(), n, at_root ? back.data() : nullptr, given, places, STRETTO_F32, root,
                                        comm, nullptr));
      if (at_root) {
        EXPECT_EQ(back, all);
      }
    }
  });
}

TEST(Collectives, AlltoallTransposesBlocks) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
      const auto x = blocks(rank, ranks, n);
      std::vector<int> y(x.size(), -1), z = x;
      ASSERT_STRETTO_OK(stretto_alltoall(x.data(), y.data(), n, STRETTO_I32, comm, nullptr));
      ASSERT_STRETTO_OK(stretto_alltoall(STRETTO_IN_PLACE, z.data(), n, STRETTO_I32, comm, nullptr));
      for (int s = 0; s < ranks; ++s)
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<std::size_t>(s) * n + i], pair_sample(s, rank, i));
      EXPECT_EQ(y, z);
    }
  });
}

TEST(Collectives, BarrierWaitsForEveryRank) {
  for (int check : {0, 1}) {
    std::atomic<int> entered{0};
    on_ranks(5, [&](stretto_comm comm, int, int ranks) {
      stretto_options o = defaults();
      o.check = check;
      ++entered;
      ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
      EXPECT_EQ(entered, ranks);
    });
  }
}

TEST(Collectives, EveryScheduleByNameGivesTheSameSum) {
  for (const char* name : {"ring", "recursive_doubling", "rabenseifner"})
    on_all_ranks([name](stretto_comm comm, int rank, int ranks) {
      stretto_report report = STRETTO_REPORT_INIT;
      stretto_options o = defaults();
      o.schedule = name;
      o.report = &report;
      const auto x = samples<float>(rank, 1234);
      std::vector<float> y(x.size());
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o));
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], sum_of_ranks(ranks, i));
      EXPECT_STREQ(report.algorithm, name);
      EXPECT_STREQ(report.payload, "raw");
      EXPECT_EQ(report.raw_bytes, report.bytes_sent);
      EXPECT_EQ(report.bytes_sent > 0, ranks > 1);
      EXPECT_EQ(report.bytes_known, 1);
      EXPECT_EQ(report.promised_error, 0);
      EXPECT_EQ(report.contributions, static_cast<std::uint64_t>(ranks));
    });
}

TEST(Collectives, OperationsGiveTheirValues) {
  struct Case {
    stretto_op op;
    int (*fold)(int, int);
  };
  const Case cases[] = {{STRETTO_PROD, [](int a, int b) { return a * b; }},
                        {STRETTO_MIN, [](int a, int b) { return std::min(a, b); }},
                        {STRETTO_MAX, [](int a, int b) { return std::max(a, b); }},
                        {STRETTO_LAND, [](int a, int b) { return int(a && b); }},
                        {STRETTO_LOR, [](int a, int b) { return int(a || b); }},
                        {STRETTO_LXOR, [](int a, int b) { return int(!a != !b); }},
                        {STRETTO_BAND, [](int a, int b) { return a & b; }},
                        {STRETTO_BOR, [](int a, int b) { return a | b; }},
                        {STRETTO_BXOR, [](int a, int b) { return a ^ b; }},
                        {STRETTO_DIFFERENCE, [](int a, int b) { return a - b; }}};
  on_all_ranks([&](stretto_comm comm, int rank, int ranks) {
    if (ranks == 1) return;  // a logical operation on one contribution leaves it as it is
    for (const Case& c : cases) {
      const auto x = samples<int>(rank, 200);
      std::vector<int> y(x.size());
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_I32, c.op, comm, nullptr));
      for (std::size_t i = 0; i < x.size(); ++i) {
        int expected = sample(0, i);
        for (int r = 1; r < ranks; ++r) expected = c.fold(expected, sample(r, i));
        ASSERT_EQ(y[i], expected) << "operation " << c.op << " element " << i;
      }
    }
  });
}

TEST(Collectives, MeanDividesOnce) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    const auto x = samples<double>(rank, 50);
    std::vector<double> y(x.size());
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_MEAN, comm, nullptr));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], static_cast<double>(sum_of_ranks(ranks, i)) / ranks);
  });
}

// 2 x 2 matrices multiply associatively but do not commute: any other order gives another product.
TEST(Collectives, UserOperationKeepsRankOrder) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    struct M {
      std::uint8_t a, b;  // the affine map x -> a x + b modulo 256, composed left to right
    };
    static_assert(sizeof(M) == sizeof(std::uint16_t));
    stretto_options o = defaults();
    int calls = 0;
    o.user_context = &calls;
    o.user_function = [](const void* in, void* inout, std::size_t n, stretto_type, void* context) {
      ++*static_cast<int*>(context);
      const auto* left = static_cast<const M*>(in);
      auto* right = static_cast<M*>(inout);
      for (std::size_t i = 0; i < n; ++i)
        right[i] = {static_cast<std::uint8_t>(left[i].a * right[i].a),
                    static_cast<std::uint8_t>(right[i].a * left[i].b + right[i].b)};
    };
    const auto of = [](int r, std::size_t i) { return M{std::uint8_t(2 * r + 3), std::uint8_t(5 * r + int(i) + 1)}; };
    std::vector<M> x(37), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = of(rank, i);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_U16, STRETTO_USER, comm, &o));
    for (std::size_t i = 0; i < x.size(); ++i) {
      M m = of(0, i);
      for (int r = 1; r < ranks; ++r) {
        const M n = of(r, i);
        m = {std::uint8_t(m.a * n.a), std::uint8_t(n.a * m.b + n.b)};
      }
      ASSERT_EQ(y[i].a, m.a);
      ASSERT_EQ(y[i].b, m.b) << i;
    }
  });
}

TEST(Collectives, AgreementCanBeSwitchedOff) {
  on_all_ranks([](stretto_comm comm, int rank, int ranks) {
    stretto_options o = defaults();
    o.check = 0;
    const auto x = samples<double>(rank, 100);
    std::vector<double> y(x.size());
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F64, STRETTO_SUM, comm, &o));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], sum_of_ranks(ranks, i));
  });
}
