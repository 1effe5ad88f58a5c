// Repeated calls take a fast path, once the library has seen enough of them. Results must not change, however similar
// the other calls are.
#include <algorithm>
#include <functional>

#include "suite.hpp"

using namespace mpi_test;

namespace {

constexpr int kRepeats = 12;  // the first calls of a communicator are the MPI's, the next take the long way
constexpr int kSizes[] = {1, 50, 3000};

// One collective as the library and as the MPI does it, into buffers of which all counts.
template <class T>
struct Buffers {
  std::vector<T> send, recv;
  bool operator==(const Buffers&) const = default;
};
template <class T>
using Run = std::function<void(Buffers<T>&, bool ours)>;

// Twelve repeats with other data and, every other time, other memory.
template <class T>
void repeat(int n, const Comm& c, const Run<T>& run) {
  const std::size_t all = size(n * c.size);
  Buffers<T> here[2];
  for (int k = 0; k < kRepeats; ++k) {
    Buffers<T>& ours = here[k % 2];
    ours = {values<T>(c.rank + k, all), values<T>(c.rank + k + 1, all)};
    Buffers<T> theirs = ours;
    run(ours, true);
    run(theirs, false);
    ASSERT_EQ(ours, theirs) << "call " << k << " of " << n << " elements on " << c.name;
  }
}

template <class Body>
void with_all_sizes(const Body& body) {
  for (const Comm& c : communicators())
    for (const int n : kSizes) body(n, c);
}

}  // namespace

TEST(Repeated, Reductions) {
  with_all_sizes([](int n, const Comm& c) {
    repeat<double>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Allreduce : PMPI_Allreduce)(b.send.data(), b.recv.data(), n, MPI_DOUBLE, MPI_SUM, c.comm);
    });
    repeat<double>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Allreduce : PMPI_Allreduce)(MPI_IN_PLACE, b.recv.data(), n, MPI_DOUBLE, MPI_SUM, c.comm);
    });
    repeat<double>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Reduce_scatter_block : PMPI_Reduce_scatter_block)(b.send.data(), b.recv.data(), n, MPI_DOUBLE,
                                                                    MPI_MAX, c.comm);
    });
    for (const int root : roots(c.size)) {
      repeat<double>(n, c, [&](auto& b, bool ours) {
        (ours ? MPI_Reduce : PMPI_Reduce)(b.send.data(), b.recv.data(), n, MPI_DOUBLE, MPI_SUM, root, c.comm);
      });
      repeat<double>(n, c, [&](auto& b, bool ours) {
        const void* send = c.rank == root ? MPI_IN_PLACE : b.recv.data();
        (ours ? MPI_Reduce : PMPI_Reduce)(send, b.recv.data(), n, MPI_DOUBLE, MPI_SUM, root, c.comm);
      });
    }
  });
}

// One count, and by turns what else may differ.
TEST(Repeated, OtherTypesAndOperationsBetween) {
  with_all_sizes([](int n, const Comm& c) {
    for (int k = 0; k < kRepeats; ++k) {
      const auto x = values<double>(c.rank + k, size(n));
      const auto y = values<std::int64_t>(c.rank + k, size(n));
      std::vector<double> sum(size(n)), least(sum), sums(sum), leasts(sum);
      std::vector<std::int64_t> ints(size(n)), all_ints(ints);
      MPI_Allreduce(x.data(), sum.data(), n, MPI_DOUBLE, MPI_SUM, c.comm);
      MPI_Allreduce(y.data(), ints.data(), n, MPI_INT64_T, MPI_SUM, c.comm);
      MPI_Allreduce(x.data(), least.data(), n, MPI_DOUBLE, MPI_MIN, c.comm);
      PMPI_Allreduce(x.data(), sums.data(), n, MPI_DOUBLE, MPI_SUM, c.comm);
      PMPI_Allreduce(y.data(), all_ints.data(), n, MPI_INT64_T, MPI_SUM, c.comm);
      PMPI_Allreduce(x.data(), leasts.data(), n, MPI_DOUBLE, MPI_MIN, c.comm);
      EXPECT_EQ(sum, sums);
      EXPECT_EQ(ints, all_ints);
      EXPECT_EQ(least, leasts);
    }
  });
}

TEST(Repeated, Moves) {
  with_all_sizes([](int n, const Comm& c) {
    repeat<char>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Allgather : PMPI_Allgather)(b.send.data(), n, MPI_CHAR, b.recv.data(), n, MPI_CHAR, c.comm);
    });
    repeat<char>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Allgather : PMPI_Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.recv.data(), n, MPI_CHAR, c.comm);
    });
    repeat<char>(n, c, [&](auto& b, bool ours) {
      (ours ? MPI_Alltoall : PMPI_Alltoall)(b.send.data(), n, MPI_CHAR, b.recv.data(), n, MPI_CHAR, c.comm);
    });
    for (const int root : roots(c.size)) {
      repeat<char>(
          n, c, [&](auto& b, bool ours) { (ours ? MPI_Bcast : PMPI_Bcast)(b.send.data(), n, MPI_CHAR, root, c.comm); });
      const bool here = c.rank == root;  // elsewhere the other side means nothing
      repeat<char>(n, c, [&](auto& b, bool ours) {
        void* recv = here ? b.recv.data() : nullptr;
        const MPI_Datatype type = here ? MPI_CHAR : MPI_DATATYPE_NULL;
        (ours ? MPI_Gather : PMPI_Gather)(b.send.data(), n, MPI_CHAR, recv, here ? n : 0, type, root, c.comm);
      });
      repeat<char>(n, c, [&](auto& b, bool ours) {
        const void* send = here ? MPI_IN_PLACE : b.send.data();
        (ours ? MPI_Gather : PMPI_Gather)(send, n, MPI_CHAR, b.recv.data(), n, MPI_CHAR, root, c.comm);
      });
      bool in_place = false;
      repeat<char>(n, c, [&](auto& b, bool ours) {  // by turns, at the root alone
        if (ours) in_place = here && !in_place;
        const void* send = in_place ? MPI_IN_PLACE : b.send.data();
        (ours ? MPI_Gather : PMPI_Gather)(send, n, MPI_CHAR, b.recv.data(), n, MPI_CHAR, root, c.comm);
      });
      repeat<char>(n, c, [&](auto& b, bool ours) {
        const void* send = here ? b.send.data() : nullptr;
        const MPI_Datatype type = here ? MPI_CHAR : MPI_DATATYPE_NULL;
        (ours ? MPI_Scatter : PMPI_Scatter)(send, here ? n : -1, type, b.recv.data(), n, MPI_CHAR, root, c.comm);
      });
      repeat<char>(n, c, [&](auto& b, bool ours) {
        void* recv = here ? MPI_IN_PLACE : b.recv.data();
        (ours ? MPI_Scatter : PMPI_Scatter)(b.send.data(), n, MPI_CHAR, recv, n, MPI_CHAR, root, c.comm);
      });
    }
  });
}

// An MPI may give the handle of a type that is freed to the next one, which lies otherwise.
TEST(Repeated, TypesThatComeAndGo) {
  for (const Comm& c : communicators())
    for (int k = 0; k < 2 * kRepeats; ++k) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      if (k % 2 == 0)
        MPI_Type_contiguous(2, MPI_INT, &type);
      else
        MPI_Type_vector(2, 1, 3, MPI_INT, &type);
      MPI_Type_commit(&type);
      std::vector<int> ours(4), theirs(4);
      for (int i = 0; i < 4; ++i) ours[size(i)] = theirs[size(i)] = 100 * c.rank + 10 * i + k;
      MPI_Bcast(ours.data(), 1, type, 0, c.comm);
      PMPI_Bcast(theirs.data(), 1, type, 0, c.comm);
      EXPECT_EQ(ours, theirs) << "call " << k << " on " << c.name;
      MPI_Type_free(&type);
    }
}

// Communicators that come and go; the next may have other ranks.
TEST(Repeated, CommunicatorsThatComeAndGo) {
  const Comm& world = communicators().front();
  for (int round = 0; round < 6; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(world.comm, round % 2 ? world.rank % 2 : 0, -world.rank, &comm);
    for (int k = 0; k < kRepeats; ++k) {
      const int mine = world.rank + k;
      int sum = -1, expected = -2;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
      PMPI_Allreduce(&mine, &expected, 1, MPI_INT, MPI_SUM, comm);
      EXPECT_EQ(sum, expected) << "call " << k << " of round " << round;
      MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
  }
}
