// Nonblocking and persistent collectives that communication cores move: every form that stretto serves, in every MPI
// function that completes requests, beside messages, blocking calls, and frees of communicators and types.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT
#endif

namespace {

constexpr int kN = 10'000;  // elements of a vector: no multiple of the ranks, and long enough to be served

std::vector<double> sum_of(int ranks, int count = kN) {
  std::vector<double> sum(size(count), 0);
  for (int r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value<double>(r, i);
  return sum;
}

// How a program may complete all of its requests.
using Completes = std::function<void(std::vector<MPI_Request>&)>;
const std::vector<Completes>& ways() {
  static const std::vector<Completes> all {
    [](auto& r) {
      for (MPI_Request& one : r) MPI_Wait(&one, MPI_STATUS_IGNORE);
    },
        [](auto& r) {
          std::vector<MPI_Status> statuses(r.size());
          MPI_Waitall(static_cast<int>(r.size()), r.data(), statuses.data());
        },
        [](auto& r) {
          for (std::size_t left = r.size(); left > 0; --left) {
            int at = MPI_UNDEFINED;
            MPI_Status status;
            MPI_Waitany(static_cast<int>(r.size()), r.data(), &at, &status);
            ASSERT_NE(at, MPI_UNDEFINED);
          }
        },
        [](auto& r) {
          std::vector<int> at(r.size());
          for (int left = static_cast<int>(r.size()), some = 0; left > 0; left -= some) {
            MPI_Waitsome(static_cast<int>(r.size()), r.data(), &some, at.data(), MPI_STATUSES_IGNORE);
            ASSERT_NE(some, MPI_UNDEFINED);
          }
        },
        [](auto& r) {
          for (MPI_Request& one : r)
            for (int done = 0; !done;) MPI_Test(&one, &done, MPI_STATUS_IGNORE);
        },
        [](auto& r) {
          for (int done = 0; !done;) MPI_Testall(static_cast<int>(r.size()), r.data(), &done, MPI_STATUSES_IGNORE);
        },
        [](auto& r) {
          for (std::size_t left = r.size(); left > 0;) {
            int at = MPI_UNDEFINED, done = 0;
            MPI_Testany(static_cast<int>(r.size()), r.data(), &at, &done, MPI_STATUS_IGNORE);
            left -= done ? 1 : 0;
          }
        },
        [](auto& r) {
          std::vector<int> at(r.size());
          for (int left = static_cast<int>(r.size()); left > 0;) {
            int some = 0;
            MPI_Testsome(static_cast<int>(r.size()), r.data(), &some, at.data(), MPI_STATUSES_IGNORE);
            ASSERT_NE(some, MPI_UNDEFINED);
            left -= some;
          }
        },
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
        [](auto& r) {
          for (MPI_Request& one : r) {
            while (!MPIX_Request_is_complete(one)) MPIX_Stream_progress(MPIX_STREAM_NULL);
            MPI_Wait(&one, MPI_STATUS_IGNORE);
          }
        },
#endif
        [](auto& r) {  // checked before
          for (MPI_Request& one : r) {
            for (int done = 0; !done;) MPI_Request_get_status(one, &done, MPI_STATUS_IGNORE);
            MPI_Wait(&one, MPI_STATUS_IGNORE);
          }
        },
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
        [](auto& r) {
          const int all = static_cast<int>(r.size());
          for (int done = 0; !done;) MPI_Request_get_status_all(all, r.data(), &done, MPI_STATUSES_IGNORE);
          MPI_Waitall(all, r.data(), MPI_STATUSES_IGNORE);
        },
        [](auto& r) {
          const int all = static_cast<int>(r.size());
          for (std::size_t left = r.size(); left > 0; --left) {
            int at = MPI_UNDEFINED;
            for (int done = 0; !done;) MPI_Request_get_status_any(all, r.data(), &at, &done, MPI_STATUS_IGNORE);
            ASSERT_NE(at, MPI_UNDEFINED);
            MPI_Wait(&r[size(at)], MPI_STATUS_IGNORE);
          }
        },
        [](auto& r) {
          const int all = static_cast<int>(r.size());
          std::vector<int> at(r.size());
          for (int left = all, some = 0; left > 0; left -= some) {
            MPI_Request_get_status_some(all, r.data(), &some, at.data(), MPI_STATUSES_IGNORE);
            ASSERT_NE(some, MPI_UNDEFINED);
            for (int i = 0; i < some; ++i) MPI_Wait(&r[size(at[size(i)])], MPI_STATUS_IGNORE);
          }
        },
#endif
  };
  return all;
}

bool all_null(const std::vector<MPI_Request>& requests) {
  return std::all_of(requests.begin(), requests.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
}

// Every collective that communication cores may move, each with buffers of its own.
struct Every {
  explicit Every(const Comm& comm)
      : c(comm), counts(p, kN), x(values<double>(comm.rank, kN)), given(kN * p), blocks(kN * p) {
    for (std::size_t r = 0; r < p; ++r)
      for (std::size_t i = 0; i < kN; ++i) {
        given[r * kN + i] = static_cast<double>(size(c.rank) * 1000 + r * 10 + i % 7);
        blocks[r * kN + i] = value<double>(c.rank, i);
      }
    clear();
  }

  void clear() {
    for (auto* one : {&sum, &at_root, &block, &equal, &scattered}) one->assign(kN, -1);
    for (auto* one : {&all, &gathered, &turned}) one->assign(kN * p, -1);
    cast = is_root ? x : std::vector<double>(kN);
  }

  std::vector<MPI_Request> start() {
    std::vector<MPI_Request> r(9);
    double* const reduced = is_root ? at_root.data() : nullptr;
    MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r[0]);
    MPI_Ireduce(x.data(), reduced, kN, MPI_DOUBLE, MPI_SUM, root, c.comm, &r[1]);
    MPI_Ibcast(cast.data(), kN, MPI_DOUBLE, root, c.comm, &r[2]);
    MPI_Iallgather(x.data(), kN, MPI_DOUBLE, all.data(), kN, MPI_DOUBLE, c.comm, &r[3]);
    MPI_Igather(x.data(), kN, MPI_DOUBLE, gathered.data(), kN, MPI_DOUBLE, root, c.comm, &r[4]);
    MPI_Iscatter(given.data(), kN, MPI_DOUBLE, scattered.data(), kN, MPI_DOUBLE, root, c.comm, &r[5]);
    MPI_Ialltoall(given.data(), kN, MPI_DOUBLE, turned.data(), kN, MPI_DOUBLE, c.comm, &r[6]);
    MPI_Ireduce_scatter_block(blocks.data(), block.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r[7]);
    MPI_Ireduce_scatter(blocks.data(), equal.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm, &r[8]);
    return r;
  }

#ifdef HAS_PERSISTENT
  std::vector<MPI_Request> prepare() {
    std::vector<MPI_Request> r(9);
    const MPI_Info none = MPI_INFO_NULL;
    double* const reduced = is_root ? at_root.data() : nullptr;
    MPI_Allreduce_init(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, none, &r[0]);
    MPI_Reduce_init(x.data(), reduced, kN, MPI_DOUBLE, MPI_SUM, root, c.comm, none, &r[1]);
    MPI_Bcast_init(cast.data(), kN, MPI_DOUBLE, root, c.comm, none, &r[2]);
    MPI_Allgather_init(x.data(), kN, MPI_DOUBLE, all.data(), kN, MPI_DOUBLE, c.comm, none, &r[3]);
    MPI_Gather_init(x.data(), kN, MPI_DOUBLE, gathered.data(), kN, MPI_DOUBLE, root, c.comm, none, &r[4]);
    MPI_Scatter_init(given.data(), kN, MPI_DOUBLE, scattered.data(), kN, MPI_DOUBLE, root, c.comm, none, &r[5]);
    MPI_Alltoall_init(given.data(), kN, MPI_DOUBLE, turned.data(), kN, MPI_DOUBLE, c.comm, none, &r[6]);
    MPI_Reduce_scatter_block_init(blocks.data(), block.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, none, &r[7]);
    MPI_Reduce_scatter_init(blocks.data(), equal.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm, none, &r[8]);
    return r;
  }
#endif

  void check() const {
    const auto expected = sum_of(c.size);
    EXPECT_EQ(sum, expected) << c.name;
    EXPECT_EQ(block, expected) << c.name;
    EXPECT_EQ(equal, expected) << c.name;
    EXPECT_EQ(cast, values<double>(root, kN)) << c.name;
    if (is_root) {
      EXPECT_EQ(at_root, expected) << c.name;
      EXPECT_EQ(gathered, all) << c.name;
    }
    for (int q = 0; q < c.size; ++q)
      for (std::size_t i = 0; i < kN; ++i) {
        const std::size_t at = size(q) * kN + i;
        ASSERT_EQ(all[at], value<double>(q, i)) << c.name;
        ASSERT_EQ(turned[at], static_cast<double>(q * 1000 + c.rank * 10) + static_cast<double>(i % 7)) << c.name;
      }
    for (std::size_t i = 0; i < kN; ++i)
      ASSERT_EQ(scattered[i], static_cast<double>(root * 1000 + c.rank * 10) + static_cast<double>(i % 7)) << c.name;
  }

  const Comm& c;
  const std::size_t p = size(c.size);
  const int root = c.size - 1;
  const bool is_root = c.rank == root;
  const std::vector<int> counts;
  const std::vector<double> x;
  std::vector<double> given, blocks;
  std::vector<double> sum, at_root, block, equal, cast, scattered, all, gathered, turned;
};

}  // namespace

TEST(Started, EveryCollectiveInEveryWay) {
  for (const Comm& c : communicators()) {
    Every every(c);
    for (const Completes& complete : ways()) {
      every.clear();
      std::vector<MPI_Request> r = every.start();
      complete(r);
      EXPECT_TRUE(all_null(r)) << c.name;
      every.check();
    }
  }
}

// Each rank sends before the others take part, so a wait for one must let the other go on.
TEST(Started, BesideMessagesInOneArray) {
  for (const Comm& c : communicators())
    for (const Completes& complete : ways()) {
      const auto x = values<double>(c.rank, kN);
      std::vector<double> sum(kN), got(size(16 * kN));
      const std::vector<double> sent(size(16 * kN), c.rank);
      std::vector<MPI_Request> r(3);
      MPI_Isend(sent.data(), 16 * kN, MPI_DOUBLE, (c.rank + 1) % c.size, 5, c.comm, &r[0]);
      MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r[1]);
      MPI_Irecv(got.data(), 16 * kN, MPI_DOUBLE, (c.rank + c.size - 1) % c.size, 5, c.comm, &r[2]);
      complete(r);
      EXPECT_EQ(sum, sum_of(c.size));
      EXPECT_EQ(got, std::vector<double>(size(16 * kN), (c.rank + c.size - 1) % c.size));
    }
}

TEST(Started, ABlockingReceiveMeanwhileHoldsNobodyUp) {
  const Comm& c = communicators().front();
  for (int round = 0; round < 5; ++round) {
    const auto x = values<double>(c.rank, kN);
    std::vector<double> sum(kN), now(kN);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
    int token = 0;
    if (c.rank == 0) {  // which comes only once another rank has seen the sum
      if (c.size > 1) MPI_Recv(&token, 1, MPI_INT, c.size - 1, 9, c.comm, MPI_STATUS_IGNORE);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      if (c.rank == c.size - 1) MPI_Send(&token, 1, MPI_INT, 0, 9, c.comm);
    }
    MPI_Allreduce(x.data(), now.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm);
    EXPECT_EQ(sum, now);
  }
}

TEST(Started, ManyInFlightInAnyOrderOfWaits) {
  const Comm& c = communicators()[1];
  constexpr int many = 20;
  std::vector<std::vector<double>> in, out(many, std::vector<double>(kN));
  std::vector<MPI_Request> r(many);
  for (int k = 0; k < many; ++k) {
    in.push_back(values<double>(c.rank + k, kN));
    MPI_Iallreduce(in.back().data(), out[size(k)].data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r[size(k)]);
    if (k % 5 == 4) MPI_Barrier(c.comm);
  }
  for (int k = many; k-- > 0;) {
    const int which = (k + c.rank * 7) % many;
    MPI_Wait(&r[size(which)], MPI_STATUS_IGNORE);
    double expected = 0;
    for (int q = 0; q < c.size; ++q) expected += value<double>(q + which, 1);
    EXPECT_EQ(out[size(which)][1], expected);
  }
}

TEST(Started, TypesWithGapsAndFreedAtOnce) {
  for (const Comm& c : communicators()) {
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    MPI_Type_vector(kN, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    std::vector<double> x(size(2 * kN), -1);
    if (c.rank == 0)
      for (int i = 0; i < kN; ++i) x[size(2 * i)] = i;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Ibcast(x.data(), 1, every_other, 0, c.comm, &r);
    MPI_Type_free(&every_other);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < kN; ++i) {
      ASSERT_EQ(x[size(2 * i)], i);
      ASSERT_EQ(x[size(2 * i + 1)], -1);
    }
  }
}

// Only for the first communicator that a program frees: later ones are the MPI's for a while, and Open MPI 5 crashes.
TEST(Started, ACommunicatorIsFreedMeanwhile) {
  const Comm& world = communicators().front();
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(world.comm, &copy);
  const auto x = values<double>(world.rank, kN);
  std::vector<double> sum(kN), message(size(64 * kN), world.rank);
  MPI_Request r = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
  const int last = world.size - 1;
  // The last rank starts only once the first, which is in MPI_Comm_free by then, has taken its message.
  if (world.rank == 0 && last > 0) MPI_Irecv(message.data(), 64 * kN, MPI_DOUBLE, last, 4, world.comm, &received);
  if (world.rank == last && last > 0) MPI_Ssend(message.data(), 64 * kN, MPI_DOUBLE, 0, 4, world.comm);
  MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, copy, &r);
  MPI_Comm_free(&copy);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Wait(&received, MPI_STATUS_IGNORE);
  EXPECT_EQ(sum, sum_of(world.size));
  EXPECT_EQ(message.back(), world.rank == 0 ? last : world.rank);
}

TEST(Started, CancelIsRefusedAndFreeWaits) {
  const Comm& c = communicators().front();
  if (c.size == 1) return;  // the MPI's
  const auto x = values<double>(c.rank, kN);
  std::vector<double> sum(kN), freed(kN);
  for (const MPI_Comm one : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
  EXPECT_NE(MPI_Cancel(&r), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum, sum_of(c.size));
  MPI_Iallreduce(x.data(), freed.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
  EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
  EXPECT_EQ(freed, sum_of(c.size));
  for (const MPI_Comm one : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, MPI_ERRORS_ARE_FATAL);
}

TEST(Started, StatusesAreEmpty) {
  const Comm& c = communicators().front();
  const auto x = values<double>(c.rank, kN);
  std::vector<double> sum(kN);
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallreduce(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, &r);
  MPI_Status status;
  MPI_Wait(&r, &status);
  int count = -1, cancelled = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cancelled, 0);
  MPI_Wait(&r, &status);  // of none
}

#ifdef HAS_PERSISTENT
TEST(Persistent, TypesAreFreedBeforeTheStart) {
  for (const Comm& c : communicators()) {
    if (c.size == 1) continue;  // the MPI's
    const auto vector = [](int stride) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      return type;
    };
    std::vector<double> x(size(3 * kN), -1);
    MPI_Datatype every_other = vector(2);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Bcast_init(x.data(), 1, every_other, 0, c.comm, MPI_INFO_NULL, &r);
    MPI_Type_free(&every_other);
    MPI_Datatype every_third = vector(3);  // which may have the handle of the other
    for (int round = 1; round < 3; ++round) {
      for (int i = 0; i < kN && c.rank == 0; ++i) x[size(2 * i)] = round * i;
      MPI_Start(&r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      for (int i = 0; i < kN; ++i) {
        ASSERT_EQ(x[size(2 * i)], round * i) << c.name;
        ASSERT_EQ(x[size(2 * i + 1)], -1) << c.name;
      }
    }
    MPI_Request_free(&r);
    MPI_Type_free(&every_third);
  }
}

TEST(Persistent, EveryCollective) {
  for (const Comm& c : communicators()) {
    if (c.size == 1) continue;  // the MPI's
    Every every(c);
    std::vector<MPI_Request> r = every.prepare();
    for (int round = 0; round < 3; ++round) {
      every.clear();
      MPI_Startall(static_cast<int>(r.size()), r.data());
      MPI_Waitall(static_cast<int>(r.size()), r.data(), MPI_STATUSES_IGNORE);
      every.check();
    }
    for (MPI_Request& one : r) MPI_Request_free(&one);
  }
}

// MPICH's MPI_Testall fails there, MPI_Waitall must not.
TEST(Persistent, WaitallBesideOneOfTheMPIs) {
  const Comm& c = communicators().front();
  const auto x = values<double>(c.rank, kN);
  std::vector<double> sum(kN);
  std::vector<MPI_Request> r(2);
  MPI_Barrier_init(c.comm, MPI_INFO_NULL, &r[0]);
  MPI_Allreduce_init(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, MPI_INFO_NULL, &r[1]);
  for (int round = 0; round < 3; ++round) {
    std::fill(sum.begin(), sum.end(), 0.0);
    MPI_Startall(2, r.data());
    EXPECT_EQ(MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(sum, sum_of(c.size));
  }
  for (MPI_Request& one : r) MPI_Request_free(&one);
}

TEST(Persistent, StartedAgainAndAgainInEveryWay) {
  for (const Comm& c : communicators()) {
#ifndef OPEN_MPI  // one rank's are the MPI's, and MPICH 5 fails in MPI_Testall of its own
    if (c.size == 1) continue;
#endif
    std::vector<double> x(kN), sum(kN), cast(kN);
    int mine = c.rank, theirs = -1;
    std::vector<MPI_Request> r(4);
    MPI_Allreduce_init(x.data(), sum.data(), kN, MPI_DOUBLE, MPI_SUM, c.comm, MPI_INFO_NULL, &r[0]);
    MPI_Send_init(&mine, 1, MPI_INT, (c.rank + 1) % c.size, 3, c.comm, &r[1]);
    MPI_Bcast_init(cast.data(), kN, MPI_DOUBLE, 0, c.comm, MPI_INFO_NULL, &r[2]);
    MPI_Recv_init(&theirs, 1, MPI_INT, (c.rank + c.size - 1) % c.size, 3, c.comm, &r[3]);
    const std::vector<MPI_Request> handles = r;
    int round = 0;
    for (const Completes& complete : ways()) {
      ++round;
      for (int i = 0; i < kN; ++i) x[size(i)] = value<double>(c.rank + round, size(i));
      std::fill(cast.begin(), cast.end(), c.rank == 0 ? round : -1);
      theirs = -1;
      MPI_Startall(2, r.data());
      MPI_Start(&r[2]);
      MPI_Start(&r[3]);
      complete(r);
      EXPECT_EQ(r, handles) << c.name << ", " << round;
      double expected = 0;
      for (int q = 0; q < c.size; ++q) expected += value<double>(q + round, 2);
      EXPECT_EQ(sum[2], expected) << c.name << ", " << round;
      EXPECT_EQ(cast, std::vector<double>(size(kN), round)) << c.name;
      EXPECT_EQ(theirs, (c.rank + c.size - 1) % c.size);
      int flag = 0;
      MPI_Testall(4, r.data(), &flag, MPI_STATUSES_IGNORE);  // none is active
      EXPECT_TRUE(flag);
      MPI_Waitall(4, r.data(), MPI_STATUSES_IGNORE);
    }
    for (MPI_Request& one : r) MPI_Request_free(&one);
    EXPECT_TRUE(all_null(r));
  }
}
#endif

namespace {

// Collectives that must be served and that communication cores moved in no call, according to the report.
std::string not_served(const char* report, [[maybe_unused]] bool persistent) {
  std::ifstream rows(report);
  if (!rows) return std::string("no ") + report;
  const nlohmann::json calls = nlohmann::json::parse(rows).at("calls");
  std::string missing;
  for (const char* collective : {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter", "alltoall",
                                 "reduce_scatter_block", "reduce_scatter"}) {
    std::vector<std::string> forms = {std::string("i") + collective};
#ifdef HAS_PERSISTENT
    if (persistent) forms.push_back(std::string(collective) + "_start");
#endif
    for (const std::string& operation : forms) {
      const bool ran = std::any_of(calls.begin(), calls.end(), [&](const nlohmann::json& row) {
        return row.at("operation") == operation && row.at("path") != "MPI" && row.at("in_flight_seconds") > 0;
      });
      if (!ran) missing += " " + operation;
    }
  }
  return missing;
}

// Rows of trees that lack the levels run by the ranks' own cores, or their time.
std::string not_split(const char* report) {
  std::ifstream rows(report);
  if (!rows) return std::string("no ") + report;
  std::string missing;
  const nlohmann::json calls = nlohmann::json::parse(rows).at("calls");
  for (const char* operation : {"ireduce", "ibcast", "igather", "iscatter"}) {
    const bool told = std::any_of(calls.begin(), calls.end(), [&](const nlohmann::json& row) {
      return row.at("operation") == operation && row.at("path").get<std::string>().rfind("binomial", 0) == 0 &&
             row.at("split") == 1 && row.at("attended_seconds") > 0;
    });
    if (!told) missing += std::string(" ") + operation;
  }
  return missing;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  const std::string given = argc > 1 ? argv[1] : "";
  const bool by_messages = given == "messages" || given == "split";
  MPI_Init_thread(&argc, &argv, by_messages ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (by_messages && provided != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  const char* report = std::getenv("STRETTO_REPORT");
  const Comm world = communicators().front();
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  const bool tells = report && world.rank == 0 && world.size > 1;
  const bool splits = given == "split" || given == "split_in_memory";
  const std::string missing = tells ? not_served(report, !splits) : "";
  if (!missing.empty()) std::fprintf(stderr, "communication cores moved no%s\n", missing.c_str());
  const std::string whole = tells && splits ? not_split(report) : "";
  if (!whole.empty()) std::fprintf(stderr, "the report has no split of%s\n", whole.c_str());
  return any || !missing.empty() || !whole.empty();
}
