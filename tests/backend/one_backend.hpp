// Shared by tests of the backends: all launched ranks, and every collective by one backend.
#pragma once

#include <algorithm>

#include "../api/mpi/launched_ranks.hpp"

namespace api_test {

class OneBackend : public LaunchedRanks {
 protected:
  // Every collective of blocks of n numbers, in place and not; ran() after an allreduce.
  template <class Ran>
  void every_collective(std::size_t n, const stretto_options& o, const Ran& ran) {
    const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
    const auto x = samples<double>(rank, n * p), sum = sums<double>(n * p);
    std::vector<double> y(n * p), mine(n);
    const auto block = [&](const std::vector<double>& v, std::size_t r) {
      return std::vector<double>(v.begin() + static_cast<std::ptrdiff_t>(r * n),
                                 v.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
    };
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, sum);
    ran();
    y = x;
    ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), n * p, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_EQ(y, sum);
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), mine.data(), n, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_EQ(mine, block(sum, me));
    const std::vector<std::size_t> counts(p, n);
    ASSERT_STRETTO_OK(stretto_reduce_scatter(x.data(), mine.data(), counts.data(), STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_EQ(mine, block(sum, me));
    y = x;
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, STRETTO_SUM, comm, &o));
    EXPECT_EQ(block(y, 0), block(sum, me));
    mine = samples<double>(rank, n);
    std::vector<double> all;
    for (int r = 0; r < ranks; ++r) {
      const auto v = samples<double>(r, n);
      all.insert(all.end(), v.begin(), v.end());
    }
    ASSERT_STRETTO_OK(stretto_allgather(mine.data(), y.data(), n, STRETTO_F64, comm, &o));
    EXPECT_EQ(y, all);
    std::fill(y.begin(), y.end(), -1.0);
    std::copy(mine.begin(), mine.end(), y.begin() + static_cast<std::ptrdiff_t>(me * n));
    ASSERT_STRETTO_OK(stretto_allgather(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, comm, &o));
    EXPECT_EQ(y, all);
    ASSERT_STRETTO_OK(stretto_alltoall(all.data(), y.data(), n, STRETTO_F64, comm, &o));
    for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(block(y, s), mine);
    y = all;
    ASSERT_STRETTO_OK(stretto_alltoall(STRETTO_IN_PLACE, y.data(), n, STRETTO_F64, comm, &o));
    for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(block(y, s), mine);
    for (int root = 0; root < ranks; ++root) {
      auto b = rank == root ? x : std::vector<double>(n * p);
      ASSERT_STRETTO_OK(stretto_bcast(b.data(), n * p, STRETTO_F64, root, comm, &o));
      EXPECT_EQ(b, samples<double>(root, n * p));
      y = x;
      const void* send = rank == root ? STRETTO_IN_PLACE : x.data();
      ASSERT_STRETTO_OK(stretto_reduce(send, y.data(), n * p, STRETTO_F64, STRETTO_SUM, root, comm, &o));
      EXPECT_EQ(y, rank == root ? sum : x);
      std::fill(y.begin(), y.end(), -1.0);
      std::copy(mine.begin(), mine.end(), y.begin() + static_cast<std::ptrdiff_t>(me * n));
      send = rank == root ? STRETTO_IN_PLACE : mine.data();
      ASSERT_STRETTO_OK(stretto_gather(send, y.data(), n, STRETTO_F64, root, comm, &o));
      if (rank == root) {
        EXPECT_EQ(y, all);
      }
      std::vector<double> back(n, -1.0);
      void* recv = rank == root ? STRETTO_IN_PLACE : back.data();
      ASSERT_STRETTO_OK(stretto_scatter(all.data(), recv, n, STRETTO_F64, root, comm, &o));
      if (rank != root) {
        EXPECT_EQ(back, mine);
      }
    }
  }
};

class NodeBackend : public OneBackend {
 protected:
  stretto_options node = by("node");
};

}  // namespace api_test
