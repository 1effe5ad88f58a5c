// Options and reports of other versions of the header: shorter ones keep working, unknown fields are refused.
#include <cstddef>
#include <cstring>
#include <string>

#include "../ranks.hpp"
#include "stretto/stretto_call.h"

using namespace api_test;

namespace {

stretto_status sum_alone(const stretto_options* o) {
  stretto_status s = STRETTO_INTERNAL;
  on_ranks(1, [&](stretto_comm comm, int, int) {
    const float x = 2;
    float y = 0;
    s = stretto_allreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, comm, o);
  });
  return s;
}

}  // namespace

TEST(Options, AShorterStructStandsForDefaults) {
  stretto_options o = defaults();
  o.schedule = "nonsense";  // beyond what an older caller has
  o.size = offsetof(stretto_options, schedule);
  EXPECT_EQ(sum_alone(&o), STRETTO_OK) << stretto_message();
  o.size = sizeof o;
  EXPECT_EQ(sum_alone(&o), STRETTO_UNSUPPORTED);
}

TEST(Options, ALongerStructMayNotSetWhatIsUnknown) {
  struct Newer {
    stretto_options known = STRETTO_OPTIONS_INIT;
    std::uint64_t novelty = 0;
  } o;
  o.known.size = sizeof o;
  EXPECT_EQ(sum_alone(&o.known), STRETTO_OK) << stretto_message();
  o.novelty = 1;
  EXPECT_EQ(sum_alone(&o.known), STRETTO_UNSUPPORTED);
}

TEST(Options, AShorterReportIsFilledAsFarAsItGoes) {
  stretto_report report = STRETTO_REPORT_INIT;
  report.size = offsetof(stretto_report, raw_bytes);
  report.seconds = -5;
  stretto_options o = defaults();
  o.report = &report;
  EXPECT_EQ(sum_alone(&o), STRETTO_OK) << stretto_message();
  EXPECT_EQ(report.contributions, 1u);
  EXPECT_EQ(report.seconds, -5);
  EXPECT_EQ(report.size, offsetof(stretto_report, raw_bytes));
  report.size = 0;
  EXPECT_EQ(sum_alone(&o), STRETTO_INVALID_ARGUMENT);
}

TEST(Options, RecordsOfOtherVersionsRunUnlessTheySetUnknownFields) {
  struct Newer {
    stretto_call known = STRETTO_CALL_INIT;
    std::uint64_t novelty = 0;
  } newer;
  on_ranks(1, [&](stretto_comm comm, int, int) {
    stretto_call c = STRETTO_CALL_INIT;
    c.size = offsetof(stretto_call, sendbuf);  // a barrier needs no more
    c.sendbuf = &c;
    EXPECT_EQ(stretto_run(&c, comm, nullptr), STRETTO_OK) << stretto_message();
    newer.known.size = sizeof newer;
    EXPECT_EQ(stretto_run(&newer.known, comm, nullptr), STRETTO_OK) << stretto_message();
    newer.novelty = 1;
    stretto_request request = nullptr;
    EXPECT_EQ(stretto_irun(&newer.known, comm, nullptr, &request), STRETTO_UNSUPPORTED);
    EXPECT_EQ(request, nullptr);
    for (const std::size_t size : {std::size_t{0}, offsetof(stretto_call, count), std::size_t{1} << 40}) {
      c.size = size;
      EXPECT_EQ(stretto_run_init(&c, comm, nullptr, &request), STRETTO_INVALID_ARGUMENT) << size;
    }
    EXPECT_EQ(stretto_run(nullptr, comm, nullptr), STRETTO_INVALID_ARGUMENT);
  });
}

TEST(CallRecord, ExtentEndsWithTheLastElementOfABlock) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    const std::size_t counts[] = {2, 0}, displs[] = {5, 9};
    std::size_t send = 7, recv = 7;
    stretto_call c = STRETTO_CALL_INIT;
    c.collective = STRETTO_SCATTERV;
    c.count = counts[rank];
    c.sendcounts = counts;
    c.sdispls = displs;
    ASSERT_STRETTO_OK(stretto_call_extent(&c, comm, &send, &recv));
    EXPECT_EQ(send, rank == 0 ? 7u : 0u);
    EXPECT_EQ(recv, counts[rank]);
    c.collective = STRETTO_ALLGATHERV;
    EXPECT_EQ(stretto_call_extent(&c, comm, &send, &recv), STRETTO_INVALID_ARGUMENT);
    EXPECT_STREQ(stretto_message(), "counts is NULL");
    c.recvcounts = counts;
    c.rdispls = displs;
    c.sendbuf = STRETTO_IN_PLACE;
    ASSERT_STRETTO_OK(stretto_call_extent(&c, comm, &send, &recv));
    EXPECT_EQ(send, 0u);
    EXPECT_EQ(recv, 7u);
    EXPECT_EQ(stretto_call_extent(&c, comm, nullptr, &recv), STRETTO_INVALID_ARGUMENT);
  });
}

// Found alike on every rank, before anything moves: the next call is as ever.
TEST(Options, EveryRankRefusesTooManySegmentsAndTheNextCallRuns) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const std::size_t n = 300000;
    const auto x = samples<float>(rank, n);
    std::vector<float> y(n);
    for (const int check : {1, 0}) {
      for (const char* schedule : {"ring", "recursive_doubling"}) {
        stretto_options o = defaults();
        o.timeout = 20;
        o.check = check;
        o.schedule = schedule;
        o.segment = 4;
        EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o),
                  STRETTO_INVALID_ARGUMENT);
        EXPECT_STREQ(stretto_message(),
                     "segments of 4 bytes of 1200000: too many to be numbered; at least 8 bytes each");
        o.segment = 8192;
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_EQ(y[7], static_cast<float>(sample(0, 7) + sample(1, 7) + sample(2, 7)));
      }
    }
  });
}

TEST(Options, NamesOfPayloadsEndWithTheLast) {
  EXPECT_STREQ(stretto_payload_name(STRETTO_PAYLOAD_AUTO), "auto");
  EXPECT_STREQ(stretto_payload_name(STRETTO_PAYLOAD_MIXED), "mixed");
  EXPECT_STREQ(stretto_payload_name(STRETTO_PAYLOAD_BFLOAT16), "bfloat16");
  EXPECT_EQ(stretto_payload_name(static_cast<stretto_payload>(99)), nullptr);
  EXPECT_EQ(stretto_payload_name(static_cast<stretto_payload>(-1)), nullptr);
}

TEST(Options, NamesOfStatusesAndVersion) {
  EXPECT_STREQ(stretto_status_name(STRETTO_INVALID_BOUND), "invalid_bound");
  EXPECT_STREQ(stretto_status_name(static_cast<stretto_status>(99)), "unknown");
  const std::string header = std::to_string(STRETTO_VERSION_MAJOR) + "." + std::to_string(STRETTO_VERSION_MINOR) + "." +
                             std::to_string(STRETTO_VERSION_PATCH);
  EXPECT_EQ(stretto_version(), header);
  EXPECT_EQ(stretto_type_size(STRETTO_BF16), 2u);
  EXPECT_EQ(stretto_type_size(STRETTO_U64), 8u);
  EXPECT_EQ(stretto_type_size(static_cast<stretto_type>(0)), 0u);
}
