// Collectives through the memory of several hosts: schedule "node" on ranks that STRETTO_HOST or a launcher places.
//
// usage: nodes_mpi_test LAYOUT [gtest options]
// LAYOUT, after "staged:" with memory that no peer sees: ranks of each host in turn ("1,2,3"); "cyclic:H": rank r is on
// host r mod H; "real": where the launcher placed them
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../../launched.hpp"
#include "../placed.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

bool staged = false;  // the kernel copies nothing for stretto

}  // namespace

// A stand-in that refuses the few bytes by which access is tried; an MPI copies more.
extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* local, unsigned long locals, const iovec* remote,
                                    unsigned long remotes, unsigned long flags) {
  if (staged && local[0].iov_len <= sizeof(std::uint64_t)) {
    errno = EPERM;
    return -1;
  }
  return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}

namespace {

std::vector<int> host_of;  // by rank

std::vector<int> placed_by_launcher(int ranks) {
  std::vector<char> names(static_cast<std::size_t>(ranks) * MPI_MAX_PROCESSOR_NAME);
  std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                MPI_COMM_WORLD);
  std::vector<std::string> found;
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) {
    const std::string name = &names[static_cast<std::size_t>(r) * MPI_MAX_PROCESSOR_NAME];
    const auto at = std::find(found.begin(), found.end(), name);
    all.push_back(static_cast<int>(at - found.begin()));
    if (at == found.end()) found.push_back(name);
  }
  return all;
}

bool real = false;  // hosts of their own memory, which the ranks of others do not see

int hosts() { return *std::max_element(host_of.begin(), host_of.end()) + 1; }

class Nodes : public testing::Test {
 protected:
  void SetUp() override { create(); }
  void TearDown() override { ASSERT_STRETTO_OK(stretto_comm_free(comm)); }
  void create() {
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
    rank = stretto_comm_rank(comm);
    ranks = stretto_comm_size(comm);
  }

  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options in_memory() {
    stretto_options o = defaults();
    report = STRETTO_REPORT_INIT;
    o.report = &report;
    o.schedule = "node";
    o.timeout = 60;  // reached only where a rank was told nothing
    return o;
  }
  stretto_options streamed(double bound) {
    stretto_options o = in_memory();
    o.bound_kind = STRETTO_BOUND_ABSOLUTE;
    o.bound = bound;
    o.payload = STRETTO_PAYLOAD_MIXED;
    return o;
  }

  // The first of their hosts and not, on the largest host and not.
  std::vector<int> roots() const { return {0, ranks / 2, ranks - 1}; }

  stretto_comm comm = nullptr;
  int rank = 0, ranks = 1;
};

template <class T>
void expect_same_on_all_ranks(const std::vector<T>& y) {
  std::vector<T> first = y;
  MPI_Bcast(first.data(), static_cast<int>(y.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(T)), 0);
}

// More than the smallest piece, and a remainder that no number of lanes divides.
constexpr std::array<std::size_t, 7> kCounts{0, 1, 2, 5, 1000, 100003, 700007};

}  // namespace

TEST_F(Nodes, SumsAreThoseOfTheMpi) {
  for (const std::size_t n : kCounts)
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << (in_place ? " in place" : ""));
      const auto x = samples<float>(rank, n);
      std::vector<float> y = in_place ? x : std::vector<float>(n), expected(n);
      const stretto_options o = in_memory();
      ASSERT_STRETTO_OK(
          stretto_allreduce(in_place ? STRETTO_IN_PLACE : x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_STREQ(report.algorithm, "node");
      MPI_Allreduce(x.data(), expected.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      EXPECT_EQ(y, expected);
    }
}

TEST_F(Nodes, OtherOperationsAreThoseOfTheMpi) {
  constexpr std::size_t n = 300001;
  const auto x = samples<std::int32_t>(rank, n);
  const std::array<std::pair<stretto_op, MPI_Op>, 4> operations{
      {{STRETTO_SUM, MPI_SUM}, {STRETTO_MAX, MPI_MAX}, {STRETTO_MIN, MPI_MIN}, {STRETTO_PROD, MPI_PROD}}};
  for (const auto& operation : operations) {
    std::vector<std::int32_t> y(n), expected(n);
    const stretto_options o = in_memory();
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_I32, operation.first, comm, &o));
    MPI_Allreduce(x.data(), expected.data(), n, MPI_INT32_T, operation.second, MPI_COMM_WORLD);
    EXPECT_EQ(y, expected);
  }
  const auto d = samples<double>(rank, n);
  std::vector<double> mean(n), sum(n);
  const stretto_options o = in_memory();
  ASSERT_STRETTO_OK(stretto_allreduce(d.data(), mean.data(), n, STRETTO_F64, STRETTO_MEAN, comm, &o));
  MPI_Allreduce(d.data(), sum.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(mean[i], sum[i] / ranks);
}

TEST_F(Nodes, BoundedSumsAreWithinTheBoundAndEqual) {
  for (const std::size_t n : {std::size_t{5}, std::size_t{100003}, std::size_t{700007}})
    for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_MAX})
      for (const stretto_scope scope : {STRETTO_SCOPE_CONTRIBUTION, STRETTO_SCOPE_RESULT}) {
        SCOPED_TRACE(testing::Message() << n << " by " << op << " in scope " << scope);
        const auto x = wave(rank, n);
        std::vector<float> y = x;
        stretto_options o = streamed(1e-3);
        o.scope = scope;
        ASSERT_STRETTO_OK(stretto_allreduce(STRETTO_IN_PLACE, y.data(), n, STRETTO_F32, op, comm, &o));
        EXPECT_STREQ(report.algorithm, "node");
        EXPECT_STREQ(report.payload, "mixed");
        const std::vector<double> exact(x.begin(), x.end());
        std::vector<double> expected(n);
        MPI_Allreduce(exact.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE,
                      op == STRETTO_MAX ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
        const double promised = report.error_with_rounding;
        if (scope == STRETTO_SCOPE_RESULT) {
          EXPECT_LE(report.promised_error, 1e-3);
        } else if (op == STRETTO_SUM) {
          EXPECT_LE(report.promised_error, 1e-3 * hosts() * (1 + 1e-9));
        }
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_LE(std::fabs(y[i] - (op == STRETTO_MEAN ? expected[i] / ranks : expected[i])),
                    promised + half_ulp(y[i]))
              << i;
        expect_same_on_all_ranks(y);
      }
}

TEST_F(Nodes, HostsSendWhatOneRankOfEachWouldSend) {
  constexpr std::size_t n = 600000;
  const auto x = wave(rank, n);
  std::vector<float> y(n);
  const stretto_options o = in_memory();
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
  std::uint64_t sent = report.bytes_sent, all = 0;
  MPI_Allreduce(&sent, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 2u * static_cast<std::uint64_t>(hosts() - 1) * n * sizeof(float));
}

TEST_F(Nodes, VectorsInSharedMemoryAreNotCopied) {
  constexpr std::size_t n = 700000;
  void* in = nullptr;
  void* out = nullptr;
  ASSERT_STRETTO_OK(stretto_alloc(n * sizeof(float), &in));
  ASSERT_STRETTO_OK(stretto_alloc(n * sizeof(float), &out));
  const auto x = samples<float>(rank, n);
  std::memcpy(in, x.data(), n * sizeof(float));
  std::vector<float> expected(n);
  const stretto_options o = in_memory();
  ASSERT_STRETTO_OK(stretto_allreduce(in, out, n, STRETTO_F32, STRETTO_SUM, comm, &o));
  MPI_Allreduce(x.data(), expected.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(std::memcmp(out, expected.data(), n * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(in, x.data(), n * sizeof(float)), 0);
  ASSERT_STRETTO_OK(stretto_free(in));
  ASSERT_STRETTO_OK(stretto_free(out));
}

// Where messages inside a host are slow, all ranks choose its memory.
TEST_F(Nodes, SumsTakeMemoryByChoiceWhereItIsPredictedToWin) {
  const std::string path = testing::TempDir() + "nodes_mpi_test." + std::to_string(getpid()) + ".json";
  std::ofstream(path) << R"({"version": 1, "name": "slow inside", "links": {"cache": [{"alpha": 1e-5, "beta": 1e-6}],)"
                      << R"("network": [{"alpha": 1e-5, "beta": 8e-9}]}})";
  setenv("STRETTO_PROFILE", path.c_str(), 1);
  stretto_comm other = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &other));
  unsetenv("STRETTO_PROFILE");
  unlink(path.c_str());
  constexpr std::size_t n = 300001;
  const auto x = samples<float>(rank, n);
  std::vector<float> y(n), expected(n);
  stretto_options o = in_memory();
  o.schedule = nullptr;
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, other, &o));
  EXPECT_STREQ(report.algorithm, "node");
  MPI_Allreduce(x.data(), expected.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(y, expected);
  // A reduce_scatter and a broadcast that are long enough, and a broadcast that is not.
  const std::size_t block = (std::size_t{4} << 20) / sizeof(float) / static_cast<std::size_t>(ranks) + 1;
  const auto whole = samples<float>(rank, block * static_cast<std::size_t>(ranks));
  std::vector<float> part(block), expected_part(block);
  ASSERT_STRETTO_OK(
      stretto_reduce_scatter_block(whole.data(), part.data(), block, STRETTO_F32, STRETTO_SUM, other, &o));
  EXPECT_STREQ(report.algorithm, "node");
  MPI_Reduce_scatter_block(whole.data(), expected_part.data(), static_cast<int>(block), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
  EXPECT_EQ(part, expected_part);
  for (const std::size_t bytes : {std::size_t{9} << 20, std::size_t{1} << 20}) {
    const auto sent = samples<float>(1, bytes / sizeof(float));
    std::vector<float> got = rank == 1 ? sent : std::vector<float>(sent.size());
    ASSERT_STRETTO_OK(stretto_bcast(got.data(), got.size(), STRETTO_F32, 1, other, &o));
    EXPECT_EQ(std::string(report.algorithm) == "node", bytes > std::size_t{8} << 20) << report.algorithm;
    EXPECT_EQ(got, sent);
  }
  // Within a bound, where the network takes longer than the codec, streams travel between the hosts.
  constexpr std::size_t many = 4000001;
  const auto w = wave(rank, many);
  std::vector<float> z(many);
  o.bound_kind = STRETTO_BOUND_ABSOLUTE;
  o.bound = 1e-3;
  ASSERT_STRETTO_OK(stretto_allreduce(w.data(), z.data(), many, STRETTO_F32, STRETTO_SUM, other, &o));
  EXPECT_STREQ(report.algorithm, "node");
  EXPECT_STREQ(report.payload, "mixed");
  const std::vector<double> exact(w.begin(), w.end());
  std::vector<double> sum(many);
  MPI_Allreduce(exact.data(), sum.data(), many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < many; ++i)
    ASSERT_LE(std::fabs(z[i] - sum[i]), report.error_with_rounding + half_ulp(z[i])) << i;
  expect_same_on_all_ranks(z);
  ASSERT_STRETTO_OK(stretto_comm_free(other));
}

TEST_F(Nodes, BroadcastsGiveTheRootsValues) {
  for (const int root : roots())
    for (const std::size_t n : kCounts) {
      SCOPED_TRACE(testing::Message() << n << " from " << root);
      const auto expected = samples<std::int32_t>(root, n);
      std::vector<std::int32_t> x = rank == root ? expected : std::vector<std::int32_t>(n);
      const stretto_options o = in_memory();
      ASSERT_STRETTO_OK(stretto_bcast(x.data(), n, STRETTO_I32, root, comm, &o));
      EXPECT_STREQ(report.algorithm, "node");
      EXPECT_EQ(x, expected);
    }
}

TEST_F(Nodes, ReducesGiveTheRootWhatTheMpiGives) {
  for (const int root : roots())
    for (const std::size_t n : kCounts)
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message() << n << " to " << root << (in_place ? " in place" : ""));
        const auto x = samples<float>(rank, n);
        std::vector<float> y = in_place ? x : std::vector<float>(n), expected(n);
        const bool at_root = rank == root;
        const stretto_options o = in_memory();
        ASSERT_STRETTO_OK(stretto_reduce(at_root && in_place ? STRETTO_IN_PLACE : x.data(),
                                         at_root ? y.data() : nullptr, n, STRETTO_F32, STRETTO_SUM, root, comm, &o));
        EXPECT_STREQ(report.algorithm, "node");
        MPI_Reduce(x.data(), expected.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
        if (at_root) {
          EXPECT_EQ(y, expected);
        }
      }
}

// By recursive doubling: each of a power of two of hosts sends one a round, and one more host sends and gets one.
std::uint64_t messages_of_short_allreduce() {
  const auto all = static_cast<unsigned>(hosts()), even = std::bit_floor(all);
  return even * static_cast<unsigned>(std::bit_width(even) - 1) + 2 * (all - even);
}

// Whether they are prepared (unchecked calls) or run anew.
TEST_F(Nodes, ShortCallsAreThoseOfTheMpi) {
  for (const bool check : {true, false})
    for (const bool in_place : {false, true})
      for (const std::size_t n :
           {std::size_t{1}, std::size_t{13}, std::size_t{64}, std::size_t{1024}, std::size_t{8192}, std::size_t{8193}})
        for (int turn = 0; turn < 5; ++turn) {
          SCOPED_TRACE(testing::Message() << n << (check ? " checked" : "") << (in_place ? " in place" : ""));
          stretto_options o = in_memory();
          o.check = check;
          if (turn >= 3) o.report = nullptr;
          const auto took_memory = [&] {
            if (o.report) {
              EXPECT_STREQ(report.algorithm, "node");
            }
          };
          const auto count = static_cast<int>(n);
          const auto x = samples<float>(rank + 10 * turn, n);
          std::vector<float> y = in_place ? x : std::vector<float>(n), expected(n);
          const void* const send = in_place ? STRETTO_IN_PLACE : x.data();
          MPI_Allreduce(x.data(), expected.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
          ASSERT_STRETTO_OK(stretto_allreduce(send, y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
          EXPECT_EQ(y, expected);
          took_memory();
          if (o.report && check && n <= 8192) {
            EXPECT_EQ(report.bytes_known, 1);
            std::uint64_t bytes = report.bytes_sent;
            MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
            EXPECT_EQ(bytes, messages_of_short_allreduce() * n * sizeof(float));
          }
          for (const int root : roots()) {
            const bool at_root = rank == root;
            std::vector<float> z = in_place ? x : std::vector<float>(n);
            ASSERT_STRETTO_OK(stretto_reduce(at_root ? send : x.data(), at_root ? z.data() : nullptr, n, STRETTO_F32,
                                             STRETTO_SUM, root, comm, &o));
            if (at_root) {
              EXPECT_EQ(z, expected) << root;
            }
            took_memory();
            const auto sent = samples<float>(root + 20 * turn, n);
            std::vector<float> got = at_root ? sent : std::vector<float>(n);
            ASSERT_STRETTO_OK(stretto_bcast(got.data(), n, STRETTO_F32, root, comm, &o));
            EXPECT_EQ(got, sent) << root;
            took_memory();
          }
        }
}

// Blocks of up to 32 KiB in all, whether they are prepared (unchecked calls) or run anew.
TEST_F(Nodes, ShortBlocksAreThoseOfTheMpi) {
  const auto all = static_cast<std::size_t>(ranks), most = 32 * 1024 / sizeof(float) / all;
  std::size_t pairs = all * all;  // of ranks on two hosts
  for (int h = 0; h < hosts(); ++h) {
    const auto d = static_cast<std::size_t>(std::count(host_of.begin(), host_of.end(), h));
    pairs -= d * d;
  }
  for (const bool check : {true, false})
    for (const bool in_place : {false, true})
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{64}, most})
        for (int turn = 0; turn < 5; ++turn) {
          SCOPED_TRACE(testing::Message() << n << (check ? " checked" : "") << (in_place ? " in place" : ""));
          stretto_options o = in_memory();
          o.check = check;
          if (turn >= 3) o.report = nullptr;
          const auto count = static_cast<int>(n);
          const auto took_memory = [&](std::size_t blocks) {
            if (!o.report) return;
            EXPECT_STREQ(report.algorithm, "node");
            if (!check || n == 0) return;
            std::uint64_t bytes = report.bytes_sent;
            MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
            EXPECT_EQ(bytes, blocks * n * sizeof(float));
          };
          const auto x = samples<float>(rank + 10 * turn, n * all);
          std::vector<float> y = in_place ? x : std::vector<float>(n * all), expected(n * all);
          const void* const send = in_place ? STRETTO_IN_PLACE : x.data();
          MPI_Alltoall(x.data(), count, MPI_FLOAT, expected.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
          ASSERT_STRETTO_OK(stretto_alltoall(send, y.data(), n, STRETTO_F32, comm, &o));
          EXPECT_EQ(y, expected);
          took_memory(pairs);
          const auto own = x.begin() + rank * count;
          y.assign(n * all, 0);
          if (in_place) std::copy(own, own + count, y.begin() + rank * count);
          const void* const block = in_place ? STRETTO_IN_PLACE : x.data() + rank * count;
          MPI_Allgather(x.data() + rank * count, count, MPI_FLOAT, expected.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
          ASSERT_STRETTO_OK(stretto_allgather(block, y.data(), n, STRETTO_F32, comm, &o));
          EXPECT_EQ(y, expected);
          took_memory(static_cast<std::size_t>(hosts() - 1) * all);
        }
}

// Blocks of up to 64 KiB in all. Messages state their own bounds, so calls need no agreement.
template <class T>
void alltoalls_within(stretto_bound kind, int rank, int ranks, stretto_comm comm, stretto_options o) {
  stretto_report& report = *o.report;
  const auto all = static_cast<std::size_t>(ranks), most = 64 * 1024 / sizeof(T) / all;
  o.bound_kind = kind;
  o.bound = 1e-4;
  for (const bool in_place : {false, true})
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300}, most})
      for (int turn = 0; turn < 6; ++turn) {
        SCOPED_TRACE(testing::Message() << n << (in_place ? " in place" : "") << " in turn " << turn);
        // Reports of all ranks, of none, and of some.
        o.report = turn < 3 || (turn == 5 && rank % 2 == 1) ? &report : nullptr;
        // The second turn's values leave no range, the third's no code.
        const auto value = [&](int of, std::size_t i) {
          if (turn == 1) return static_cast<T>(of);
          if (turn == 2) return static_cast<T>(std::ldexp(1 + static_cast<double>(i % 7), 300 % (sizeof(T) * 31)));
          return static_cast<T>(std::sin(0.01 * static_cast<double>(i)) * (2 + of));
        };
        std::vector<T> x(n * all), y(n * all), expected(n * all);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(rank, i);
        if (n > 2 && turn != 2) x[2] = x[n + 1] = std::numeric_limits<T>::quiet_NaN();
        if (in_place) y = x;
        const MPI_Datatype type = sizeof(T) == 4 ? MPI_FLOAT : MPI_DOUBLE;
        const auto count = static_cast<int>(n);
        MPI_Alltoall(x.data(), count, type, expected.data(), count, type, MPI_COMM_WORLD);
        ASSERT_STRETTO_OK(stretto_alltoall(in_place ? STRETTO_IN_PLACE : x.data(), y.data(), n,
                                           sizeof(T) == 4 ? STRETTO_F32 : STRETTO_F64, comm, &o));
        const double bound = kind == STRETTO_BOUND_RELATIVE ? 1e-4 * 2 * (1 + ranks) : 1e-4;
        // By memory, blocks inside a host stay as they are. What AUTO takes may send streams there, too.
        double largest = 0;
        std::size_t changed = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          const bool inside = host_of[i / n] == host_of[static_cast<std::size_t>(rank)] && o.schedule != nullptr;
          if (inside || turn == 2 || std::isnan(expected[i]))
            changed += std::memcmp(&y[i], &expected[i], sizeof(T)) != 0 ? 1 : 0;
          else
            largest = std::max(largest, std::fabs(static_cast<double>(y[i]) - static_cast<double>(expected[i])));
        }
        EXPECT_EQ(changed, 0);
        EXPECT_LE(largest, bound);
        if (o.schedule != nullptr && n >= 300 && turn != 1 && turn != 2) {
          EXPECT_GT(largest, 0);  // streams did travel
        }
        if (o.report == nullptr) continue;
        EXPECT_LE(largest, report.promised_error);
        if (turn != 2) {
          EXPECT_LE(report.promised_error, bound);
        }
        if (o.schedule == nullptr) continue;
        EXPECT_STREQ(report.algorithm, "node");
        EXPECT_STREQ(report.payload, "compress_once");
        if (turn == 5) continue;
        std::uint64_t bytes[2] = {report.bytes_sent, report.raw_bytes};
        MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (turn == 0 && n >= 300) {
          EXPECT_LT(2 * bytes[0], bytes[1]);
        } else {
          EXPECT_LE(bytes[0], bytes[1]);
        }
      }
}
TEST_F(Nodes, BoundedBlocksAreWithinTheBound) {
  for (const bool check : {true, false})
    for (const bool chosen : {true, false})
      for (const stretto_bound kind : {STRETTO_BOUND_ABSOLUTE, STRETTO_BOUND_RELATIVE}) {
        SCOPED_TRACE(testing::Message() << (check ? "checked " : "") << (chosen ? "chosen " : "") << kind);
        stretto_options o = in_memory();
        o.check = check;
        if (chosen)
          o.schedule = nullptr;
        else
          o.payload = STRETTO_PAYLOAD_MIXED;
        alltoalls_within<float>(kind, rank, ranks, comm, o);
        alltoalls_within<double>(kind, rank, ranks, comm, o);
        int failed = HasFailure() ? 1 : 0;  // on any rank: all leave together
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (failed != 0) return;
      }
}

// Integers travel as lossless streams where they shrink.
TEST_F(Nodes, BoundedBlocksOfIntegersStayExact) {
  stretto_options o = in_memory();
  o.check = 0;
  o.payload = STRETTO_PAYLOAD_MIXED;
  o.bound_kind = STRETTO_BOUND_RELATIVE;
  o.bound = 0.1;
  constexpr int n = 500;
  for (const int step : {3, 1000003}) {
    std::vector<std::int64_t> x(static_cast<std::size_t>(n * ranks)), y(x.size()), expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<std::int64_t>(i * i % 7) * step * (step > 3 ? step * std::int64_t{rank} : 1);
    MPI_Alltoall(x.data(), n, MPI_INT64_T, expected.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
    ASSERT_STRETTO_OK(stretto_alltoall(x.data(), y.data(), n, STRETTO_I64, comm, &o));
    EXPECT_EQ(y, expected);
    EXPECT_STREQ(report.algorithm, "node");
    if (step > 3 || report.raw_bytes == 0) continue;
    EXPECT_LT(report.bytes_sent, report.raw_bytes);
  }
}

// Needs no agreement, and no report: the call must still take the decision's operation and bound.
TEST_F(Nodes, ShortBoundedReductionsWithoutAReportAreThoseOfTheMpi) {
  constexpr std::size_t n = 256;
  for (const stretto_op op : {STRETTO_MAX, STRETTO_MIN, STRETTO_SUM, STRETTO_MEAN})
    for (const bool reported : {false, true})
      for (int turn = 0; turn < 3; ++turn) {
        SCOPED_TRACE(testing::Message() << op << (reported ? " reported on rank 0" : "") << " in turn " << turn);
        stretto_options o = in_memory();
        if (!reported || rank != 0) o.report = nullptr;
        o.check = 0;
        o.payload = STRETTO_PAYLOAD_MIXED;
        o.bound_kind = STRETTO_BOUND_ABSOLUTE;
        o.bound = 1e-3;
        o.scope = STRETTO_SCOPE_CONTRIBUTION;
        const auto x = wave(rank, n);
        std::vector<float> y(n);
        const std::vector<double> exact(x.begin(), x.end());
        std::vector<double> expected(n);
        MPI_Allreduce(exact.data(), expected.data(), static_cast<int>(n), MPI_DOUBLE,
                      op == STRETTO_MAX   ? MPI_MAX
                      : op == STRETTO_MIN ? MPI_MIN
                                          : MPI_SUM,
                      MPI_COMM_WORLD);
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, op, comm, &o));
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(y[i], op == STRETTO_MEAN ? expected[i] / ranks : expected[i], 1e-3 * ranks * 1.01) << i;
      }
}

TEST_F(Nodes, ShortBlocksTakeMemoryByChoiceWhereItWasMeasuredToWin) {
  const auto all = static_cast<std::size_t>(ranks);
  stretto_options o = in_memory();
  o.schedule = nullptr;
  o.check = 0;
  for (const std::size_t n : {std::size_t{1}, 4096 / all, 32 * 1024 / sizeof(float) / all + 1}) {
    SCOPED_TRACE(n);
    const std::size_t bytes = n * all * sizeof(float);
    const auto x = samples<float>(rank, n * all);
    std::vector<float> y(n * all);
    ASSERT_STRETTO_OK(stretto_alltoall(x.data(), y.data(), n, STRETTO_F32, comm, &o));
    EXPECT_EQ(std::string(report.algorithm) == "node", bytes <= 32 * 1024) << report.algorithm;
    ASSERT_STRETTO_OK(stretto_allgather(x.data(), y.data(), n, STRETTO_F32, comm, &o));
    EXPECT_EQ(std::string(report.algorithm) == "node", bytes >= 2048 && bytes <= 16 * 1024) << report.algorithm;
  }
}

TEST_F(Nodes, ShortCallsTakeMemoryByChoiceWhereItWasMeasuredToWin) {
  for (const bool check : {true, false})
    for (const std::size_t n : {std::size_t{1}, std::size_t{256}, std::size_t{1024}})
      for (int turn = 0; turn < 3; ++turn) {
        SCOPED_TRACE(testing::Message() << n << (check ? " checked" : ""));
        stretto_options o = in_memory();
        o.schedule = nullptr;
        o.check = check;
        const char* const chosen = check ? "recursive_doubling" : "node";  // values travel with the agreement
        const auto x = samples<float>(rank, n);
        std::vector<float> y(n), expected(n);
        MPI_Allreduce(x.data(), expected.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
        EXPECT_STREQ(report.algorithm, chosen);
        EXPECT_EQ(y, expected);
        y.assign(n, 0);
        ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, 1, comm, &o));
        EXPECT_STREQ(report.algorithm, chosen);
        if (rank == 1) {
          EXPECT_EQ(y, expected);
        }
        y = samples<float>(rank, n);
        ASSERT_STRETTO_OK(stretto_bcast(y.data(), n, STRETTO_F32, 1, comm, &o));
        EXPECT_STREQ(report.algorithm, !check && n == 1 ? "native" : chosen);
        EXPECT_EQ(y, samples<float>(1, n));
      }
}

TEST_F(Nodes, ShortCallsHaveAllOperations) {
  stretto_options o = in_memory();
  o.check = 0;
  const auto x = samples<double>(rank, 3);
  std::vector<double> y(3), expected(3);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 3, STRETTO_F64, STRETTO_MEAN, comm, &o));
    MPI_Allreduce(x.data(), expected.data(), 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(y[i], expected[i] / ranks);
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 3, STRETTO_F64, STRETTO_MAX, comm, &o));
    MPI_Allreduce(x.data(), expected.data(), 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(y, expected);
    ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), 3, STRETTO_F64, STRETTO_MIN, ranks - 1, comm, &o));
    MPI_Reduce(x.data(), expected.data(), 3, MPI_DOUBLE, MPI_MIN, ranks - 1, MPI_COMM_WORLD);
    if (rank + 1 == ranks) {
      EXPECT_EQ(y, expected);
    }
  }
}

// Beyond 4 KiB no values travel with an agreement, and a chosen way may be any.
TEST_F(Nodes, ShortSumsByChoiceAreThoseOfTheMpi) {
  for (const bool check : {true, false})
    for (const std::size_t n : {std::size_t{1025}, std::size_t{2048}, std::size_t{2049}, std::size_t{8192}}) {
      SCOPED_TRACE(testing::Message() << n << (check ? " checked" : ""));
      stretto_options o = in_memory();
      o.schedule = nullptr;
      o.check = check;
      const auto x = samples<float>(rank, n);
      std::vector<float> y(n), expected(n);
      MPI_Allreduce(x.data(), expected.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      EXPECT_EQ(y, expected);
      y.assign(n, 0);
      ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, 1, comm, &o));
      if (rank == 1) {
        EXPECT_EQ(y, expected);
      }
    }
}

// Its order between hosts differs from that on one host, but not between ranks.
TEST_F(Nodes, ShortSumsAreEqualOnAllRanksBitForBit) {
  stretto_options o = in_memory();
  o.check = 0;
  std::vector<float> x(100), y(100);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i % 3 == 0 ? -0.0F : std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(rank)));
  for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_MIN, STRETTO_MAX}) {
    ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, op, comm, &o));
    expect_same_on_all_ranks(y);
  }
}

TEST_F(Nodes, BoundedReducesAreWithinTheBound) {
  constexpr std::size_t n = 300001;
  const int root = ranks - 1;
  const auto x = wave(rank, n);
  std::vector<float> y(n);
  const stretto_options o = streamed(1e-3);
  ASSERT_STRETTO_OK(stretto_reduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, root, comm, &o));
  EXPECT_STREQ(report.payload, "mixed");
  EXPECT_LE(report.promised_error, 1e-3 * hosts() * (1 + 1e-9));
  const std::vector<double> exact(x.begin(), x.end());
  std::vector<double> expected(n);
  MPI_Reduce(exact.data(), expected.data(), n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  for (std::size_t i = 0; rank == root && i < n; ++i)
    ASSERT_LE(std::fabs(y[i] - expected[i]), report.error_with_rounding + half_ulp(y[i])) << i;
}

TEST_F(Nodes, ReduceScattersGiveEachRankItsBlockOfTheSum) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{100003}})
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << (in_place ? " in place" : ""));
      const auto x = samples<float>(rank, n * static_cast<std::size_t>(ranks));
      std::vector<float> y = in_place ? x : std::vector<float>(n), expected(n);
      const stretto_options o = in_memory();
      ASSERT_STRETTO_OK(stretto_reduce_scatter_block(in_place ? STRETTO_IN_PLACE : x.data(), y.data(), n, STRETTO_F32,
                                                     STRETTO_SUM, comm, &o));
      EXPECT_STREQ(report.algorithm, "node");
      MPI_Reduce_scatter_block(x.data(), expected.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      y.resize(n);
      EXPECT_EQ(y, expected);
    }
}

TEST_F(Nodes, ReduceScattersOfUnequalBlocksAreThoseOfTheMpi) {
  for (const bool in_place : {false, true}) {
    SCOPED_TRACE(in_place);
    std::vector<std::size_t> sizes;
    std::vector<int> mpi_sizes;
    std::size_t all = 0;
    for (int r = 0; r < ranks; ++r) {
      sizes.push_back(r % 3 == 2 ? 0 : 30001 * static_cast<std::size_t>(r + 1));
      mpi_sizes.push_back(static_cast<int>(sizes.back()));
      all += sizes.back();
    }
    const auto me = static_cast<std::size_t>(rank);
    const auto x = samples<std::int32_t>(rank, all);
    std::vector<std::int32_t> y = in_place ? x : std::vector<std::int32_t>(sizes[me]), expected(sizes[me]);
    const stretto_options o = in_memory();
    ASSERT_STRETTO_OK(stretto_reduce_scatter(in_place ? STRETTO_IN_PLACE : x.data(), y.data(), sizes.data(),
                                             STRETTO_I32, STRETTO_MAX, comm, &o));
    EXPECT_STREQ(report.algorithm, "node");
    MPI_Reduce_scatter(x.data(), expected.data(), mpi_sizes.data(), MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD);
    y.resize(sizes[me]);
    EXPECT_EQ(y, expected);
  }
}

TEST_F(Nodes, BoundedReduceScattersAreWithinTheBound) {
  constexpr std::size_t n = 50021;
  for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN}) {
    const auto x = wave(rank, n * static_cast<std::size_t>(ranks));
    std::vector<float> y(n);
    const stretto_options o = streamed(1e-3);
    ASSERT_STRETTO_OK(stretto_reduce_scatter_block(x.data(), y.data(), n, STRETTO_F32, op, comm, &o));
    EXPECT_STREQ(report.payload, "mixed");
    if (op == STRETTO_SUM) {
      EXPECT_LE(report.promised_error, 1e-3 * hosts() * (1 + 1e-9));
    }
    const std::vector<double> exact(x.begin(), x.end());
    std::vector<double> expected(n);
    MPI_Reduce_scatter_block(exact.data(), expected.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_LE(std::fabs(y[i] - (op == STRETTO_MEAN ? expected[i] / ranks : expected[i])),
                report.error_with_rounding + half_ulp(y[i]))
          << i;
  }
}

TEST_F(Nodes, BarriersEndAfterAllRanksHaveCome) {
  if (real) GTEST_SKIP() << "the ranks share no memory to count in";
  int* arrived = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &arrived, &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &bytes, &unit, &arrived);
  std::atomic_ref<int> count(*arrived);
  if (rank == 0) count.store(0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 1; round <= 20; ++round) {
    count.fetch_add(1);
    stretto_options o = in_memory();
    o.check = round % 2;
    ASSERT_STRETTO_OK(stretto_barrier(comm, &o));
    EXPECT_STREQ(report.algorithm, "node");
    EXPECT_GE(count.load(), round * ranks);
  }
  MPI_Win_free(&window);
}

TEST_F(Nodes, UncheckedRootsThatDifferAreAnErrorOnAllRanks) {
  std::vector<float> x(1000, 1);
  stretto_options o = in_memory();
  o.check = 0;
  o.timeout = 0.5;
  EXPECT_NE(stretto_bcast(x.data(), x.size(), STRETTO_F32, rank == 0 ? 1 : 0, comm, &o), STRETTO_OK);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Nodes, OtherCollectivesAndReproducibleSumsAreRefused) {
  std::vector<float> x(1000, 1), y(1000);
  stretto_options o = in_memory();
  constexpr std::size_t many = 10000;  // more than short blocks
  std::vector<float> all(many * static_cast<std::size_t>(ranks)), into(all.size());
  EXPECT_EQ(stretto_allgather(all.data(), into.data(), many, STRETTO_F32, comm, &o), STRETTO_UNSUPPORTED);
  EXPECT_EQ(stretto_alltoall(all.data(), into.data(), many, STRETTO_F32, comm, &o), STRETTO_UNSUPPORTED);
  EXPECT_EQ(stretto_gather(x.data(), all.data(), 1, STRETTO_F32, 0, comm, &o), STRETTO_UNSUPPORTED);
  o.reproducible = 1;
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
  EXPECT_EQ(stretto_reduce_scatter_block(all.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o),
            STRETTO_UNSUPPORTED);
  o = in_memory();
  o.payload = STRETTO_PAYLOAD_FUSED;
  o.bound_kind = STRETTO_BOUND_ABSOLUTE;
  o.bound = 1e-3;
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
}

TEST_F(Nodes, CountsThatDifferAreAnErrorOnAllRanks) {
  const std::size_t n = rank + 1 == ranks ? 999 : 1000;
  const std::vector<float> x(1000, 1);
  std::vector<float> y(1000);
  const stretto_options o = in_memory();
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_INCOMPATIBLE);
  EXPECT_NE(std::string(stretto_message()).find("count"), std::string::npos) << stretto_message();
}

// Of a broadcast on one rank at least.
TEST_F(Nodes, UncheckedCallsThatDifferAreAnErrorOnAllRanks) {
  constexpr std::size_t n = 400000, few = 100;
  const std::vector<float> x(n, 1);
  std::vector<float> y(n);
  const auto each = static_cast<std::size_t>(ranks);
  // Counts of most ranks, and of the other.
  const std::array<std::function<stretto_status(std::size_t, const stretto_options*)>, 9> calls{
      [&](std::size_t count, const stretto_options* o) {
        return stretto_allreduce(x.data(), y.data(), count, STRETTO_F32, STRETTO_SUM, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_reduce_scatter_block(x.data(), y.data(), count / each, STRETTO_F32, STRETTO_SUM, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_bcast(y.data(), count, STRETTO_F32, ranks / 2, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_allreduce(x.data(), y.data(), count == n ? few : few - 1, STRETTO_F32, STRETTO_SUM, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_allreduce(x.data(), y.data(), few, STRETTO_F32, count == n ? STRETTO_SUM : STRETTO_MAX, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return count == n ? stretto_barrier(comm, o)
                          : stretto_allreduce(x.data(), y.data(), 1, STRETTO_U8, STRETTO_MAX, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_allreduce(x.data(), y.data(), count == n ? 20 * few : few, STRETTO_F32, STRETTO_SUM, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return stretto_alltoall(x.data(), y.data(), count == n ? few : few - 1, STRETTO_F32, comm, o);
      },
      [&](std::size_t count, const stretto_options* o) {
        return count == n ? stretto_alltoall(x.data(), y.data(), few, STRETTO_F32, comm, o)
                          : stretto_allgather(x.data(), y.data(), few * each, STRETTO_F32, comm, o);
      }};
  for (std::size_t call = 0; call < calls.size(); ++call)
    for (const int other : {0, ranks - 1}) {  // on a host of its own in some layouts
      SCOPED_TRACE(testing::Message() << call << " on " << other);
      stretto_options o = in_memory();
      o.check = 0;
      o.timeout = call == 6 ? 60 : 0.5;  // a short call and a longer one are told, without a wait
      const stretto_status status = calls[call](rank == other ? n - 60000 : n, &o);
      int failed = status != STRETTO_OK ? 1 : 0;
      EXPECT_TRUE(call != 6 || status != STRETTO_TIMEOUT) << stretto_message();
      // Ranks that only sent to the other host return before it compares.
      if (call == 2) MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      EXPECT_EQ(failed, 1);
      MPI_Barrier(MPI_COMM_WORLD);
      ASSERT_STRETTO_OK(stretto_comm_free(comm));
      create();
    }
}

TEST_F(Nodes, AMissingRankIsATimeoutOnAllOthers) {
  for (const int missing : {0, ranks - 1}) {
    SCOPED_TRACE(missing);
    for (const std::size_t n : {std::size_t{200000}, std::size_t{100}, std::size_t{1}})
      for (const bool met : {false, true}) {
        if (ranks < 5 && met == (missing == 0)) continue;  // few ranks are for half of it
        SCOPED_TRACE(testing::Message() << n << (met ? " in a later call" : ""));
        const std::vector<float> x(n * static_cast<std::size_t>(ranks), 1);
        std::vector<float> y(x.size());
        const auto call = [&](const stretto_options& with) {
          return n > 1 ? stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &with)
                       : stretto_alltoall(x.data(), y.data(), n, STRETTO_F32, comm, &with);
        };
        stretto_options o = in_memory();
        o.check = 0;
        if (met) {
          ASSERT_STRETTO_OK(call(o));
        }
        o.timeout = 0.1;
        if (rank != missing) {
          EXPECT_EQ(call(o), STRETTO_TIMEOUT) << stretto_message();
        }
        MPI_Barrier(MPI_COMM_WORLD);
        ASSERT_STRETTO_OK(stretto_comm_free(comm));
        create();
      }
  }
}

// A switch for all: the default is the memory of each host.
TEST_F(Nodes, ARankThatSwitchesMemoryOffLeavesAllToMessages) {
  stretto_comm other = nullptr;
  if (rank == ranks - 1) setenv("STRETTO_NODE", "0", 1);
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &other));
  unsetenv("STRETTO_NODE");
  const auto x = samples<float>(rank, 1000);
  std::vector<float> y(1000), expected(1000);
  stretto_options o = in_memory();
  EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 1000, STRETTO_F32, STRETTO_SUM, other, &o), STRETTO_UNSUPPORTED);
  EXPECT_NE(std::string(stretto_message()).find("STRETTO_NODE=0 on rank " + std::to_string(ranks - 1)),
            std::string::npos)
      << stretto_message();
  ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), 1000, STRETTO_F32, STRETTO_SUM, other, nullptr));
  MPI_Allreduce(x.data(), expected.data(), 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(y, expected);
  ASSERT_STRETTO_OK(stretto_comm_free(other));
}

// Files of the last rank's host may not be long, so that it can make no memory.
TEST_F(Nodes, AHostWithoutSharedMemoryLeavesTheOthersTheirs) {
  const bool lacks = host_of[static_cast<std::size_t>(rank)] == host_of.back();
  const bool some_share = std::any_of(host_of.begin(), host_of.end(), [](int h) {
    return h != host_of.back() && std::count(host_of.begin(), host_of.end(), h) > 1;
  });
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit less{4096, usual.rlim_max};
  for (const bool streams : {false, true}) {
    stretto_comm other = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &other));
    const auto x = samples<float>(rank, 100003);
    std::vector<float> y(x.size()), expected(x.size());
    MPI_Allreduce(x.data(), expected.data(), 100003, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int call = 0; call < 2; ++call) {
      stretto_options o = streams ? streamed(1e-3) : in_memory();
      if (lacks) setrlimit(RLIMIT_FSIZE, &less);
      const stretto_status s = stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, other, &o);
      if (lacks) setrlimit(RLIMIT_FSIZE, &usual);
      if (call > 0 && (streams || !some_share)) {
        EXPECT_EQ(s, STRETTO_UNSUPPORTED);  // known by now
      } else {
        ASSERT_STRETTO_OK(s);
        EXPECT_STREQ(report.algorithm, "node");
        EXPECT_EQ(y, expected);
      }
    }
    ASSERT_STRETTO_OK(stretto_comm_free(other));
  }
}

int main(int argc, char** argv) {
  std::string layout = argc > 1 ? argv[1] : "cyclic:2";
  staged = layout.rfind("staged:", 0) == 0;
  if (staged) layout = layout.substr(layout.find(':') + 1);
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  real = layout == "real";
  host_of = real ? placed_by_launcher(ranks) : placed(layout, ranks);
  if (!real) setenv("STRETTO_HOST", ("host" + std::to_string(host_of[static_cast<std::size_t>(rank)])).c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
