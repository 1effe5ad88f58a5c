// Started sums within a bound (the launcher's STRETTO_BOUND, with rules that force streams), which communication cores
// move by messages. Calls refused at the end of a start, or with disagreeing ranks, give exact sums.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

constexpr double kBound = 1e-3, kRounding = 1e-5;
constexpr int kN = 20'000;

// `streams`: they travelled.
template <class T>
void is_within(const std::vector<T>& ours, const std::vector<T>& theirs, const Comm& c, bool streams) {
  EXPECT_LE(difference(ours, theirs), (streams ? kBound : 0) + kRounding) << c.name;
  if (streams && c.size > 1) {
    EXPECT_GT(difference(ours, theirs), kRounding) << c.name;
  }
}

struct Info {
  explicit Info(const std::string& value) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "stretto_bound", value.c_str());
  }
  ~Info() { MPI_Info_free(&info); }
  MPI_Info info = MPI_INFO_NULL;
};

// A duplicate of the world with its own bound, never freed: if a program frees one early, the MPI serves the next.
Comm with_bound(const std::string& value) {
  const Info info(value);
  Comm c = communicators().front();
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info.info, &c.comm);
  c.name = value;
  return c;
}

template <class T>
void sums(MPI_Datatype type, const Comm& c, bool streams) {
  const std::size_t p = size(c.size);
  const auto x = rough<T>(c.rank), blocks = rough<T>(c.rank, kN * c.size);
  const std::vector<int> counts(p, kN);
  const bool root = c.rank == c.size - 1;
  std::vector<T> all(kN), at_root(kN), block(kN), scattered(kN), expected(kN), expected_block(kN);
  PMPI_Allreduce(x.data(), expected.data(), kN, type, MPI_SUM, c.comm);
  PMPI_Reduce_scatter_block(blocks.data(), expected_block.data(), kN, type, MPI_SUM, c.comm);
  std::vector<MPI_Request> r(4);
  MPI_Iallreduce(x.data(), all.data(), kN, type, MPI_SUM, c.comm, &r[0]);
  MPI_Ireduce(x.data(), root ? at_root.data() : nullptr, kN, type, MPI_SUM, c.size - 1, c.comm, &r[1]);
  MPI_Ireduce_scatter_block(blocks.data(), block.data(), kN, type, MPI_SUM, c.comm, &r[2]);
  MPI_Ireduce_scatter(blocks.data(), scattered.data(), counts.data(), type, MPI_SUM, c.comm, &r[3]);
  MPI_Waitall(4, r.data(), MPI_STATUSES_IGNORE);
  is_within(all, expected, c, streams);
  if (root) is_within(at_root, expected, c, streams);
  is_within(block, expected_block, c, streams);
  is_within(scattered, expected_block, c, false);  // no rule has it leave the host's memory
}

}  // namespace

TEST(Streams, SumsAreWithinTheBound) {
  for (std::size_t i = 0; i < 4; ++i) {
    sums<float>(MPI_FLOAT, communicators()[i], true);
    sums<double>(MPI_DOUBLE, communicators()[i], true);
  }
}

TEST(Streams, ManyInFlightBetweenBlockingAndExactOnes) {
  const Comm& c = communicators()[1];
  constexpr int many = 12;
  std::vector<std::vector<double>> in, out(many, std::vector<double>(kN)), now(many, std::vector<double>(kN));
  std::vector<std::vector<double>> cast(many, std::vector<double>(kN));
  std::vector<MPI_Request> r(2 * many);
  for (int k = 0; k < many; ++k) {
    const std::size_t at = size(k);
    in.push_back(rough<double>(c.rank + k));
    if (c.rank == 0) cast[at] = in[at];
    MPI_Iallreduce(in[at].data(), out[at].data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r[2 * at]);
    MPI_Ibcast(cast[at].data(), kN, MPI_DOUBLE, 0, c.comm, &r[2 * at + 1]);
    if (k % 4 == 3) MPI_Allreduce(in[at].data(), now[at].data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
  }
  for (int k = many; k-- > 0;) MPI_Waitall(2, &r[2 * size((k + c.rank * 5) % many)], MPI_STATUSES_IGNORE);
  std::vector<double> expected(kN);
  for (int k = 0; k < many; ++k) {
    PMPI_Allreduce(in[size(k)].data(), expected.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
    is_within(out[size(k)], expected, c, true);
    if (k % 4 == 3) is_within(now[size(k)], expected, c, true);
    EXPECT_EQ(cast[size(k)], rough<double>(k));
  }
}

// One rank is late before and after its start, so that others wait in the blocking call before the started one has
// matched. By the launcher's rules both agree on a range.
TEST(Streams, SignaturesComeInTheOrderOfTheCalls) {
  const Comm& c = communicators().front();
  const auto x = rough<double>(c.rank), y = rough<double>(c.rank + 1);
  std::vector<double> later(kN), now(kN), expected(kN), expected_now(kN);
  const auto idle = [&c] {
    if (c.rank == c.size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  MPI_Request r = MPI_REQUEST_NULL;
  idle();
  EXPECT_EQ(MPI_Ireduce(x.data(), later.data(), kN, MPI_DOUBLE, MPI_SUM, 0, c.comm, &r), MPI_SUCCESS);
  idle();
  EXPECT_EQ(MPI_Reduce(y.data(), now.data(), kN, MPI_DOUBLE, MPI_SUM, 0, c.comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
  PMPI_Allreduce(x.data(), expected.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
  PMPI_Allreduce(y.data(), expected_now.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
  if (c.rank != 0) return;
  is_within(later, expected, c, true);
  is_within(now, expected_now, c, true);
}

TEST(Streams, OtherOperationsAndIntegersAreExact) {
  const Comm& c = communicators().front();
  const auto x = rough<double>(c.rank);
  const auto y = values<int>(c.rank, kN);
  std::vector<double> most(kN), expected(kN);
  std::vector<int> sum(kN), expected_sum(kN);
  std::vector<MPI_Request> r(2);
  MPI_Iallreduce(x.data(), most.data(), kN, MPI_DOUBLE, MPI_MAX, c.comm, &r[0]);
  MPI_Iallreduce(y.data(), sum.data(), kN, MPI_INT, MPI_SUM, c.comm, &r[1]);
  MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE);
  PMPI_Allreduce(x.data(), expected.data(), kN, MPI_DOUBLE, MPI_MAX, c.comm);
  PMPI_Allreduce(y.data(), expected_sum.data(), kN, MPI_INT, MPI_SUM, c.comm);
  EXPECT_EQ(most, expected);
  EXPECT_EQ(sum, expected_sum);
}

TEST(Streams, WhatIsNoNumberStaysSo) {
  const Comm& c = communicators().front();
  auto x = rough<double>(c.rank);
  if (c.rank == c.size - 1) {
    for (int i = 100; i < 200; ++i) x[size(i)] = std::numeric_limits<double>::quiet_NaN();
    x[7] = std::numeric_limits<double>::infinity();
  }
  std::vector<double> ours(kN), theirs(kN);
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_EQ(std::isnan(ours[i]), std::isnan(theirs[i])) << i;
    ASSERT_EQ(std::isinf(ours[i]), std::isinf(theirs[i])) << i;
    if (std::isfinite(theirs[i])) {
      ASSERT_NEAR(ours[i], theirs[i], kBound + kRounding) << i;
    }
  }
}

// The launcher's rules have reduce's streams rounded by each rank, so that no bound below that can be kept.
TEST(Refused, ABoundThatCannotBeKeptLeavesTheSumExact) {
  const Comm c = with_bound("abs:1e-30");
  const auto x = rough<float>(c.rank);
  std::vector<float> ours(kN), theirs(kN), all(kN);
  std::vector<MPI_Request> r(2);
  MPI_Ireduce(x.data(), ours.data(), kN, MPI_FLOAT, MPI_SUM, 0, c.comm, &r[0]);
  MPI_Iallreduce(x.data(), all.data(), kN, MPI_FLOAT, MPI_SUM, c.comm, &r[1]);
  EXPECT_EQ(MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_FLOAT, MPI_SUM, c.comm);
  if (c.rank == 0) is_within(ours, theirs, c, false);
  is_within(all, theirs, c, false);
}

TEST(Refused, RanksWithOtherBoundsGetTheSumExactly) {
  const Comm& world = communicators().front();
  const Comm c = with_bound(world.rank == 0 ? "abs:1e-3" : "rel:1e-4");
  for (int call = 0; call < 3; ++call) {
    const auto x = rough<double>(c.rank + call);
    std::vector<double> ours(kN), theirs(kN);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
    is_within(ours, theirs, c, false);
  }
  sums<double>(MPI_DOUBLE, world, true);  // which goes on
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
TEST(Streams, PersistentSumsAreWithinTheBoundAtEachStart) {
  const Comm& c = communicators()[2];
  if (c.size == 1) return;
  std::vector<double> x(kN), sum(kN), sent(kN), cast(kN), expected(kN);
  std::vector<MPI_Request> r(2);
  MPI_Allreduce_init(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, MPI_INFO_NULL, &r[0]);
  MPI_Bcast_init(cast.data(), kN, MPI_DOUBLE, 0, c.comm, MPI_INFO_NULL, &r[1]);
  for (int round = 0; round < 4; ++round) {
    const auto given = rough<double>(c.rank + round);
    std::copy(given.begin(), given.end(), x.begin());
    std::copy(given.begin(), given.end(), cast.begin());
    MPI_Startall(2, r.data());
    MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE);
    PMPI_Allreduce(x.data(), expected.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
    is_within(sum, expected, c, true);
    EXPECT_EQ(cast, rough<double>(round));
  }
  for (MPI_Request& one : r) MPI_Request_free(&one);
}
#endif

// By rules with names.
TEST(Names, RanksWhoseRulesDifferGetTheSumExactly) {
  Comm c = communicators()[1];
  const auto named = [&](const char* name, bool streams) {
    MPI_Comm_set_name(c.comm, name);
    c.name = name;
    const auto x = rough<double>(c.rank);
    std::vector<double> ours(kN), theirs(kN);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallreduce(x.data(), ours.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    PMPI_Allreduce(x.data(), theirs.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
    is_within(ours, theirs, c, streams);
  };
  named("fused", true);
  named(c.rank == 0 ? "fused" : "homomorphic", false);
  named("homomorphic", true);
  named(c.rank == 0 ? "fused" : "plain", false);
  named("plain", false);
}

// Without rules: the host's memory moves the sums whatever the MPI's thread level.
TEST(Memory, SumsAreExact) { sums<double>(MPI_DOUBLE, communicators().front(), false); }

TEST(Fixed, ReproducibleSumsAreThoseOfBlockingCalls) {
  const Comm& c = communicators()[2];
  const auto x = rough<float>(c.rank);
  std::vector<float> now(kN), later(kN);
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallreduce(x.data(), later.data(), kN, MPI_FLOAT, MPI_SUM, c.comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Allreduce(x.data(), now.data(), kN, MPI_FLOAT, MPI_SUM, c.comm);
  EXPECT_EQ(later, now);
  if (std::getenv("STRETTO_BOUND")) return;
  std::vector<float> all(size(kN * c.size)), sum(kN);
  MPI_Allgather(x.data(), kN, MPI_FLOAT, all.data(), kN, MPI_FLOAT, c.comm);
  for (std::size_t i = 0; i < kN; ++i) {
    sum[i] = all[i];
    for (int q = 1; q < c.size; ++q) sum[i] += all[size(q * kN) + i];
  }
  EXPECT_EQ(later, sum);
}

namespace {

// Rows that the report should have and lacks; "": none. `memory`: rows of sums in host memory.
std::string missing(const char* file, bool memory) {
  std::ifstream rows(file);
  if (!rows) return std::string("no ") + file;
  const nlohmann::json calls = nlohmann::json::parse(rows).at("calls");
  const auto has = [&](const char* operation, const char* path, const char* why, bool streams) {
    return std::any_of(calls.begin(), calls.end(), [&](const nlohmann::json& row) {
      const bool fits = row.at("operation") == operation && row.at("path").get<std::string>().find(path) == 0 &&
                        row.at("why").get<std::string>().find(why) == 0 && row.at("in_flight_seconds") > 0;
      return fits && (!streams || (row.at("promised_error") > 0 && row.at("promised_error") <= kBound &&
                                   row.at("error_with_rounding") >= row.at("promised_error") &&
                                   row.at("sent_bytes") < row.at("raw_bytes")));
    });
  };
  std::string none;
  if (memory) return has("iallreduce", "node", "communication cores", false) ? none : " iallreduce in memory";
  if (!has("iallreduce", "ring, fused", "rule of line 2; communication cores", true)) none += " iallreduce";
  if (!has("ireduce", "", "rule of line 3; communication cores", true)) none += " ireduce";
  if (!has("ireduce", "", "rule of line 3; refused; communication cores", false)) none += " refused ireduce";
  if (!has("ireduce_scatter", "node", "communication cores", false)) none += " ireduce_scatter";
  if (!has("ibcast", "", "rule of line 4; refused; communication cores", false)) none += " refused ibcast";
  return none;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  const bool memory = argc > 1 && std::string(argv[1]) == "memory";
  MPI_Init_thread(&argc, &argv, memory ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  if (!memory && provided != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  const char* report = std::getenv("STRETTO_REPORT");
  const Comm world = communicators().front();
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  const std::string none = report && world.rank == 0 && world.size > 1 ? missing(report, memory) : "";
  if (!none.empty()) std::fprintf(stderr, "the report lacks%s\n", none.c_str());
  return any || !none.empty();
}
