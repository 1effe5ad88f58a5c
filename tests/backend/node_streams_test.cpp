// Bounded collectives in a host's shared memory, on the launched ranks. Bytes equal the engine's under the same bound,
// for every collective, type, operation, bound and scope; forced, chosen and tried. Unsupported streams are refused by
// name.
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "../api/ranks.hpp"
#include "../launched.hpp"
#include "stretto/stretto_mpi.h"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;

namespace {

using Bytes = std::vector<std::byte>;
enum class What { allreduce, reduce, reduce_scatter_block, reduce_scatter, bcast, allgather };

// Converts a value between 1/16 and 8 to a half; exact or truncated.
std::uint16_t half_of(float x) {
  const auto b = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((b >> 16 & 0x8000u) | ((b >> 13 & 0x3ffffu) - (112u << 10)));
}

Bytes field(stretto_type type, int rank, std::size_t n) {
  Bytes bytes(n * stretto_type_size(type));
  for (std::size_t i = 0; i < n; ++i) {
    const double x = 2.0 + std::sin(1e-3 * static_cast<double>(i) + rank) + 1e-3 * static_cast<double>(i * 7919 % 97);
    const auto f = static_cast<float>(x);
    const std::uint16_t h = half_of(f);
    if (type == STRETTO_F64) std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
    if (type == STRETTO_F32) std::memcpy(bytes.data() + i * sizeof f, &f, sizeof f);
    if (type == STRETTO_F16) std::memcpy(bytes.data() + i * sizeof h, &h, sizeof h);
  }
  return bytes;
}

class NodeStreams : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    setenv("STRETTO_NODE", "0", 1);
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &engine));
    unsetenv("STRETTO_NODE");
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
    node = bounded(1e-3);
    node.schedule = "node";
    node.payload = STRETTO_PAYLOAD_FUSED;
    node.report = &report;
  }
  void TearDown() override {
    ASSERT_STRETTO_OK(stretto_comm_free(engine));
    ASSERT_STRETTO_OK(stretto_comm_free(comm));
  }

  // One call. *out: the result, as far as this rank has one.
  stretto_status call(What what, stretto_type t, stretto_op op, std::size_t n, bool in_place, stretto_comm on,
                      const stretto_options& o, Bytes* out) const {
    const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
    const std::size_t size = stretto_type_size(t);
    const int root = ranks - 1;
    const bool scatters = what == What::reduce_scatter_block || what == What::reduce_scatter;
    const Bytes x = field(t, rank, scatters ? n * p : n);
    const std::size_t outputs = scatters && !in_place ? n : what == What::allgather || scatters ? n * p : n;
    out->assign(outputs * size, std::byte{0x5a});
    if (in_place && what == What::allgather)
      std::copy(x.begin(), x.end(), out->begin() + static_cast<std::ptrdiff_t>(me * n * size));
    if (in_place && what != What::allgather) *out = x;
    const void* send = in_place ? STRETTO_IN_PLACE : static_cast<const void*>(x.data());
    const std::vector<std::size_t> counts(p, n);
    stretto_status s = STRETTO_OK;
    switch (what) {
      case What::allreduce: return stretto_allreduce(send, out->data(), n, t, op, on, &o);
      case What::reduce:
        if (rank != root) send = x.data();
        s = stretto_reduce(send, rank == root ? out->data() : nullptr, n, t, op, root, on, &o);
        if (rank != root) out->clear();
        return s;
      case What::reduce_scatter_block: s = stretto_reduce_scatter_block(send, out->data(), n, t, op, on, &o); break;
      case What::reduce_scatter: s = stretto_reduce_scatter(send, out->data(), counts.data(), t, op, on, &o); break;
      case What::allgather: return stretto_allgather(send, out->data(), n, t, on, &o);
      case What::bcast:
        if (rank == root) *out = x;
        return stretto_bcast(out->data(), n, t, root, on, &o);
    }
    out->resize(n * size);
    return s;
  }

  // Expects equal bytes from the node's memory and from the engine, and consistent reports.
  void expect_alike(What what, stretto_type t, stretto_op op, std::size_t n, bool in_place, stretto_options o) {
    SCOPED_TRACE(testing::Message() << "collective " << static_cast<int>(what) << ", type " << t << ", op " << op
                                    << ", " << n << " elements, in place " << in_place);
    Bytes ours, others;
    stretto_report theirs = STRETTO_REPORT_INIT;
    o.report = &report;
    ASSERT_STRETTO_OK(call(what, t, op, n, in_place, comm, o, &ours));
    o.schedule = nullptr;
    o.report = &theirs;
    ASSERT_STRETTO_OK(call(what, t, op, n, in_place, engine, o, &others));
    EXPECT_TRUE(ours == others);
    EXPECT_STREQ(report.algorithm, "node");
    EXPECT_STREQ(report.payload, theirs.payload);
    EXPECT_STRNE(theirs.algorithm, "node");
    EXPECT_EQ(report.eps, theirs.eps);
    EXPECT_GT(report.eps, 0);
    EXPECT_EQ(report.promised_error, theirs.promised_error);
    EXPECT_EQ(report.contributions, theirs.contributions);
  }

  stretto_comm comm = nullptr, engine = nullptr;
  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options node = STRETTO_OPTIONS_INIT;
  int rank = 0, ranks = 1;
};

constexpr What kAll[] = {What::allreduce,      What::reduce, What::reduce_scatter_block,
                         What::reduce_scatter, What::bcast,  What::allgather};

// A profile where values in shared memory take no time, nor the codec, and all else takes long.
std::string profile_of_a_fast_node(int ranks) {
  std::string path = "close_streams_" + std::to_string(getpid()) + ".json";
  std::string points;
  for (const char* c : {"allreduce", "allgather"})
    points += std::string(points.empty() ? "" : ", ") + R"({"collective": ")" + c + R"(", "ranks": )" +
              std::to_string(ranks) + R"(, "hosts": 1, "points": [[8, 1e-3], [1048576, 1e-3]]})";
  std::ofstream(path) << R"({"version": 1, "cores": 16, "links": {"cache": [{"from": 0, "alpha": 1, "beta": 1e-6}]},
    "codec": {"f32": [{"ratio": 8, "call": 1e-9, "compress": 1e-15, "decompress": 1e-15, "add": 1e-15, "fused": 1e-15}]},
    "node": [)" << points
                      << "]}\n";
  return path;
}

}  // namespace

TEST_F(NodeStreams, HaveTheEnginesBytesInAllCollectivesAndTypes) {
  for (const int check : {1, 0}) {
    node.check = check;
    for (const What what : kAll)
      for (const std::size_t n : {std::size_t{1}, std::size_t{1500}, std::size_t{70001}})
        for (const bool in_place : {false, true})
          if (what != What::bcast || !in_place) expect_alike(what, STRETTO_F32, STRETTO_SUM, n, in_place, node);
  }
  for (const What what : {What::allreduce, What::reduce, What::reduce_scatter_block})
    for (const stretto_type t : {STRETTO_F32, STRETTO_F64, STRETTO_F16})
      for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_MIN, STRETTO_MAX})
        for (const stretto_payload p : {STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
          node.payload = p;
          expect_alike(what, t, op, 9001, what == What::reduce_scatter_block, node);
        }
  for (const What what : {What::bcast, What::allgather})
    for (const stretto_type t : {STRETTO_F64, STRETTO_F16}) expect_alike(what, t, STRETTO_SUM, 9001, false, node);
}

TEST_F(NodeStreams, KeepBoundsOfEveryKindAndScope) {
  constexpr std::size_t n = 30011;
  std::vector<double> sum(n, 0);
  for (int r = 0; r < ranks; ++r) {
    const Bytes x = field(STRETTO_F32, r, n);
    for (std::size_t i = 0; i < n; ++i) {
      float f = 0;
      std::memcpy(&f, x.data() + i * sizeof f, sizeof f);
      sum[i] += f;
    }
  }
  for (const stretto_bound kind : {STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE})
    for (const stretto_scope scope : {STRETTO_SCOPE_CONTRIBUTION, STRETTO_SCOPE_RESULT}) {
      stretto_options o = bounded(1e-4, kind, scope);
      o.schedule = "node";
      o.payload = STRETTO_PAYLOAD_FUSED;
      for (const int check : {1, 0}) {
        o.check = check;
        expect_alike(What::allreduce, STRETTO_F32, STRETTO_SUM, n, false, o);
        expect_alike(What::allreduce, STRETTO_F32, STRETTO_SUM, n, true, o);
      }
      o.report = &report;
      Bytes out;
      ASSERT_STRETTO_OK(call(What::allreduce, STRETTO_F32, STRETTO_SUM, n, false, comm, o, &out));
      for (std::size_t i = 0; i < n; ++i) {
        float y = 0;
        std::memcpy(&y, out.data() + i * sizeof y, sizeof y);
        ASSERT_LE(std::fabs(y - sum[i]), report.promised_error + half_ulp(y)) << i;
      }
      if (kind == STRETTO_BOUND_ABSOLUTE && scope == STRETTO_SCOPE_RESULT) {
        EXPECT_LE(report.promised_error, 1e-4);
      }
      EXPECT_GT(report.ratio, 2);
      EXPECT_LT(report.bytes_sent, report.raw_bytes / 2);
      EXPECT_EQ(report.bytes_known, 1);
      EXPECT_GT(report.codec_seconds, 0);
      std::vector<std::byte> first = out;
      MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
      EXPECT_TRUE(first == out);
    }
}

TEST_F(NodeStreams, ValuesTravelAsTheyAreWhereOnlyThatWillDo) {
  const std::vector<float> x(5000, 1.25F);
  std::vector<float> y(5000);
  node.bound_kind = STRETTO_BOUND_RELATIVE;  // of a range of 0
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &node));
  EXPECT_EQ(y, std::vector<float>(5000, 1.25F * static_cast<float>(ranks)));
  EXPECT_STREQ(report.algorithm, "node");
  EXPECT_STREQ(report.payload, "raw");
  EXPECT_EQ(report.promised_error, 0);
  node.bound_kind = STRETTO_BOUND_ABSOLUTE;  // without a payload the schedule means exact values
  node.payload = STRETTO_PAYLOAD_AUTO;
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &node));
  EXPECT_STREQ(report.payload, "raw");
}

TEST_F(NodeStreams, AreChosenWhereAPayloadIsForcedAlone) {
  if (ranks == 1) GTEST_SKIP() << "one rank alone has nothing to gain";
  const std::string path = profile_of_a_fast_node(ranks);
  setenv("STRETTO_PROFILE", path.c_str(), 1);
  stretto_comm own = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &own));
  unsetenv("STRETTO_PROFILE");
  std::remove(path.c_str());
  constexpr std::size_t n = 40000;
  stretto_options o = node;
  o.schedule = nullptr;
  Bytes ours, others;
  for (const What what : {What::allreduce, What::allgather}) {
    ASSERT_STRETTO_OK(call(what, STRETTO_F32, STRETTO_SUM, n, false, own, o, &ours));
    EXPECT_STREQ(report.algorithm, "node");
    EXPECT_STRNE(report.payload, "raw");
    EXPECT_GT(report.predicted_seconds, 0);
    ASSERT_STRETTO_OK(call(what, STRETTO_F32, STRETTO_SUM, n, false, engine, o, &others));
    EXPECT_TRUE(ours == others);
  }
  ASSERT_STRETTO_OK(call(What::allreduce, STRETTO_F32, STRETTO_SUM, n, false, engine, o, &others));
  o.payload = STRETTO_PAYLOAD_AUTO;
  // Exact values in shared memory are faster: streams go there only where they are forced.
  for (int again = 0; again < 12; ++again) {
    ASSERT_STRETTO_OK(call(What::allreduce, STRETTO_F32, STRETTO_SUM, n, false, own, o, &ours));
    EXPECT_STREQ(report.payload, "raw");
  }
  ASSERT_STRETTO_OK(stretto_comm_free(own));
}

TEST_F(NodeStreams, WhatHasNoneIsRefusedByName) {
  std::vector<double> x(700), y(700 * static_cast<std::size_t>(ranks));
  const auto why = [&](stretto_status s) {
    EXPECT_EQ(s, STRETTO_UNSUPPORTED);
    return std::string(stretto_message());
  };
  const auto none = [](const std::string& text, const char* what) {
    EXPECT_NE(text.find(std::string("a host's memory has no ") + what), std::string::npos) << text;
  };
  none(why(stretto_allreduce(x.data(), y.data(), 700, STRETTO_F32, STRETTO_DIFFERENCE, comm, &node)),
       "allreduce of 700 elements of f32 by difference as payload fused");
  none(why(stretto_alltoall(x.data(), y.data(), 7, STRETTO_F32, comm, &node)),
       "alltoall of 7 elements of f32 as payload fused");
  none(why(stretto_allreduce(x.data(), y.data(), 700, STRETTO_I32, STRETTO_SUM, comm, &node)),
       "allreduce of 700 elements of i32 by sum as payload fused");
  node.payload = STRETTO_PAYLOAD_RECOMPRESS;
  none(why(stretto_allreduce(x.data(), y.data(), 700, STRETTO_F32, STRETTO_SUM, comm, &node)),
       "allreduce of 700 elements of f32 by sum as payload recompress");
  node.payload = STRETTO_PAYLOAD_FUSED;
  stretto_request r = nullptr;
  node.report = nullptr;
  ASSERT_STRETTO_OK(stretto_iallreduce(x.data(), y.data(), 7, STRETTO_F32, STRETTO_SUM, comm, &node, &r));
  none(why(stretto_wait(r)), "started allreduce of 7 elements");
  ASSERT_STRETTO_OK(stretto_request_free(&r));
  // Without `node` they run as before.
  node.schedule = nullptr;
  node.report = &report;
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 700, STRETTO_F32, STRETTO_DIFFERENCE, comm, &node));
  EXPECT_STRNE(report.algorithm, "node");
}

TEST_F(NodeStreams, RanksWithDifferentBoundsAreToldBoth) {
  if (ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  const Bytes x = field(STRETTO_F32, rank, 5000);
  Bytes y(x.size());
  node.timeout = 60;
  const double same = node.bound;
  for (const int check : {1, 0}) {
    node.check = check;
    node.bound = rank == 1 ? 0.25 : same;
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 5000, STRETTO_F32, STRETTO_SUM, comm, &node), STRETTO_INCOMPATIBLE);
    const std::string why = stretto_message();
    EXPECT_NE(why.find("0.25"), std::string::npos) << why;
    EXPECT_NE(why.find("0.001"), std::string::npos) << why;
    if (check == 0) break;
    node.bound = same;
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 5000, STRETTO_F32, STRETTO_SUM, comm, &node));
  }
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
