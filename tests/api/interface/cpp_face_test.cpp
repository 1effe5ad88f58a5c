// The C++ face owns its handles, deduces types and throws the status it got.
#include "stretto/stretto.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace {

template <class Body>
void on_three(const Body& body) {
  const stretto::thread_group group(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      stretto::communicator comm(group, r);
      body(comm);
    });
  for (auto& t : threads) t.join();
}

}  // namespace

TEST(CppFace, CollectivesDeduceTheirType) {
  on_three([](stretto::communicator& comm) {
    EXPECT_EQ(comm.size(), 3);
    std::vector<double> x(10, comm.rank() + 1.0), y(10), all(30);
    comm.allreduce(x.data(), y.data(), 10, STRETTO_SUM);
    EXPECT_EQ(y, std::vector<double>(10, 6.0));
    comm.allgather(x.data(), all.data(), 10);
    EXPECT_EQ(all[29], 3.0);
    comm.bcast(std::span(all).first(5), 2);
    auto r = comm.iallreduce(x.data(), y.data(), 10, STRETTO_MAX);
    r.wait();
    EXPECT_EQ(y, std::vector<double>(10, 3.0));
    comm.allreduce(std::span(x), STRETTO_MIN);
    EXPECT_EQ(x, std::vector<double>(10, 1.0));
    comm.scan(x.data(), y.data(), 10, STRETTO_SUM);
    EXPECT_EQ(y[9], comm.rank() + 1.0);
    comm.exscan(x.data(), y.data(), 10, STRETTO_SUM);
    EXPECT_EQ(y[9], comm.rank() == 0 ? 1.0 : comm.rank());
    const double* both[] = {all.data(), all.data() + 10};
    comm.allreduce(std::span<const double* const>(both), y.data(), 10, STRETTO_SUM);
    EXPECT_EQ(y[9], 9.0);
    const std::vector<std::size_t> ones(3, 1);
    std::vector<int> to = {0, 1, 2}, from(3);
    comm.alltoallv(to.data(), ones, {}, from.data(), ones, {});
    EXPECT_EQ(from, std::vector<int>(3, comm.rank()));
    EXPECT_THROW(comm.alltoallv(to.data(), ones, {}, from.data(), {}, {}), std::invalid_argument);
    comm.barrier();
  });
}

TEST(CppFace, FailuresThrowStatusAndMessage) {
  on_three([](stretto::communicator& comm) {
    int x = 1, y = 0;
    try {
      comm.allreduce(&x, &y, static_cast<std::size_t>(comm.rank() == 2), STRETTO_SUM);
      ADD_FAILURE() << "no error";
    } catch (const stretto::error& e) {
      EXPECT_EQ(e.status(), STRETTO_INCOMPATIBLE);
      EXPECT_STREQ(e.what(), "incompatible: count differs: 0 on rank 0, 1 on rank 2");
    }
  });
}

TEST(CppFace, StreamsRoundTrip) {
  const std::vector<float> x = {1, 2, 3.5f, -4};
  const auto s = stretto::compress(std::span<const float>(x), 0.01, STRETTO_CHECKSUM);
  EXPECT_EQ(stretto::inspect(s).count, 4u);
  const auto y = stretto::decompress<float>(s);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 0.01);
  EXPECT_THROW(stretto::decompress<double>(s), std::invalid_argument);
}
