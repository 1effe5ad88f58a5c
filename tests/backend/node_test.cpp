// The collectives of a host's shared memory as a backend, on the launched ranks, all on this host: results equal the
// MPI's, at lengths of every protocol. Also which calls are served, and when the backend is chosen.
#include <algorithm>
#include <cstdlib>

#include "../launched.hpp"
#include "one_backend.hpp"

using namespace api_test;

namespace {

// left times 10^(digits of right), then right, on numbers with their factor: associative, and does not commute.
struct Digits {
  std::int32_t value, factor;
};
void append(const void* left, void* right, size_t count, stretto_type, void*) {
  const auto* l = static_cast<const Digits*>(left);
  auto* r = static_cast<Digits*>(right);
  for (size_t i = 0; i < count; ++i) r[i] = {l[i].value * r[i].factor + r[i].value, l[i].factor * r[i].factor};
}

}  // namespace

TEST_F(NodeBackend, EveryCollectiveGivesWhatOursGives) {
  for (const int check : {1, 0}) {
    node.check = check;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{20011}}) {
      SCOPED_TRACE(testing::Message() << n << " elements, check " << check);
      every_collective(n, node, [&] {
        EXPECT_STREQ(report.algorithm, "node");
        EXPECT_STREQ(report.payload, "raw");
        EXPECT_EQ(report.promised_error, 0);
        EXPECT_EQ(report.contributions, static_cast<std::size_t>(ranks));
      });
      ASSERT_STRETTO_OK(stretto_barrier(comm, &node));
      EXPECT_STREQ(report.algorithm, "node");
    }
  }
}

TEST_F(NodeBackend, EveryOperationIsServedButDifference) {
  constexpr std::size_t n = 700;
  stretto_options ours = STRETTO_OPTIONS_INIT;
  ours.schedule = "recursive_doubling";
  for (int op = STRETTO_SUM; op <= STRETTO_BXOR; ++op)
    for (const stretto_type t : {STRETTO_I8, STRETTO_U16, STRETTO_I32, STRETTO_U64}) {
      const auto bits = samples<std::uint64_t>(rank, n);
      std::vector<std::uint64_t> a(n), b(n);
      ASSERT_STRETTO_OK(stretto_allreduce(bits.data(), a.data(), n, t, static_cast<stretto_op>(op), comm, &node));
      ASSERT_STRETTO_OK(stretto_allreduce(bits.data(), b.data(), n, t, static_cast<stretto_op>(op), comm, &ours));
      EXPECT_EQ(a, b) << "operation " << op << " on type " << t;
    }
  std::vector<std::uint16_t> h(n, 0x3c00), k(n);  // 1 as float16
  ASSERT_STRETTO_OK(stretto_allreduce(h.data(), k.data(), n, STRETTO_F16, STRETTO_MEAN, comm, &node));
  EXPECT_EQ(k, h);
  const auto x = samples<float>(rank, n);
  std::vector<float> y(n);
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_DIFFERENCE, comm, &node),
            STRETTO_UNSUPPORTED);
  EXPECT_NE(std::string(stretto_message()).find("allreduce of 700 elements of f32 by difference"), std::string::npos)
      << stretto_message();
}

TEST_F(NodeBackend, AFunctionOfTheUsersKeepsTheOrderOfTheRanks) {
  node.user_function = append;
  node.user_commutes = 0;
  for (const std::size_t n : {std::size_t{3}, std::size_t{20000}}) {
    const std::vector<Digits> x(n, Digits{rank + 1, 10});
    std::vector<Digits> y(n);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_I64, STRETTO_USER, comm, &node));
    EXPECT_STREQ(report.algorithm, "node");
    std::int32_t expected = 0;
    for (int r = 1; r <= ranks; ++r) expected = 10 * expected + r;
    for (const Digits& d : y) ASSERT_EQ(d.value, expected);
  }
}

TEST_F(NodeBackend, IsChosenForFewRanksWhereNothingWasMeasured) {
  stretto_comm own = nullptr;
  create_unmeasured(&own);
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  for (const int check : {1, 0}) {
    o.check = check;
    for (const std::size_t n : {std::size_t{300}, std::size_t{50000}}) {
      const auto x = samples<double>(rank, n);
      std::vector<double> y(n);
      for (int again = 0; again < 3; ++again) {
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F64, STRETTO_SUM, own, &o));
        EXPECT_EQ(y, sums<double>(n));
        EXPECT_STREQ(report.algorithm, ranks > 1 ? "node" : "native");
      }
    }
    // Unsupported calls run as before.
    std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), 3);
    counts[0] = 4;
    std::size_t total = 0;
    for (const std::size_t c : counts) total += c;
    const auto x = samples<double>(rank, total);
    std::vector<double> y(4);
    ASSERT_STRETTO_OK(stretto_reduce_scatter(x.data(), y.data(), counts.data(), STRETTO_F64, STRETTO_SUM, own, &o));
    if (ranks > 1) {
      EXPECT_STRNE(report.algorithm, "node");
    }
  }
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(NodeBackend, IsOffWhereAnyRankSaysSo) {
  if (rank == ranks - 1) setenv("STRETTO_NODE", "0", 1);
  stretto_comm own = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
  unsetenv("STRETTO_NODE");
  std::vector<float> x(4, 1.0F), y(4);
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, own, &node), STRETTO_UNSUPPORTED);
  const std::string why = "STRETTO_NODE=0 on rank " + std::to_string(ranks - 1);
  EXPECT_NE(std::string(stretto_message()).find(why), std::string::npos) << stretto_message();
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.report = &report;
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, own, &o));
  EXPECT_STRNE(report.algorithm, "node");
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
