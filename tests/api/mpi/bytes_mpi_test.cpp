// Bytes in reports over an MPI: the sent bytes, or that they are unknown, alike in every call of a shape, repeated or
// not.
#include <string>

#include "../../launched.hpp"
#include "launched_ranks.hpp"

using namespace api_test;

namespace {

class BytesOverMpi : public LaunchedRanks {
 protected:
  static constexpr std::size_t kN = 50000;

  stretto_options fused(const char* schedule) {
    stretto_options o = by(schedule);
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    o.bound = 1e-4;
    o.payload = STRETTO_PAYLOAD_FUSED;
    return o;
  }

  void expect(stretto_options o, bool known) {
    std::vector<float> x(kN, 1.5f), y(kN);
    for (std::size_t i = 0; i < kN; ++i) x[i] = std::sin(1e-3f * static_cast<float>(i));
    for (const int check : {1, 0})
      for (int call = 0; call < 3; ++call) {
        report = STRETTO_REPORT_INIT;
        o.check = check;
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_EQ(report.bytes_known, known ? 1 : 0) << report.algorithm;
        EXPECT_EQ(report.bytes_sent > 0, known && (ranks > 1 || std::string(report.algorithm) == "node"))
            << report.algorithm;
        EXPECT_EQ(report.raw_bytes > 0, report.bytes_sent > 0);
        EXPECT_TRUE(known || report.ratio == 1);
      }
  }
};

TEST_F(BytesOverMpi, AreThoseOfMessages) {
  expect(by("ring"), true);
  expect(fused("recursive_doubling"), true);
}

TEST_F(BytesOverMpi, AreThoseOfStreamsInAHostsMemory) { expect(fused("node"), true); }

TEST_F(BytesOverMpi, AreNotKnownWhereTheMpiOrAHostsMemoryMovesValues) {
  expect(by("native"), false);
  expect(by("node"), false);
}

TEST_F(BytesOverMpi, AreNoneWhereTheAgreementIsAll) {
  stretto_options o = by(nullptr);
  for (int call = 0; call < 2; ++call) {
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    if (std::string(report.algorithm) != "agreement") continue;
    EXPECT_EQ(report.bytes_known, 1);
    EXPECT_EQ(report.bytes_sent, 0U);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
