// Collectives that only move data, with types that differ between ranks and are not dense: results equal the MPI's own
// functions', and nothing else is written.
#include <algorithm>
#include <numeric>

#include "suite.hpp"

using namespace mpi_test;

namespace {

// Three ints per message element, in different layouts.
struct Layout {
  const char* name;
  MPI_Datatype type = MPI_DATATYPE_NULL;  // one element
  int ints = 3;                           // of data
  int extent = 3;                         // ints from one element to the next
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = [] {
    std::vector<Layout> made(4);
    made[0].name = "contiguous";
    MPI_Type_contiguous(3, MPI_INT, &made[0].type);
    made[1].name = "strided";
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 2, MPI_INT, &spread);
    MPI_Type_create_resized(spread, 0, 6 * sizeof(int), &made[1].type);
    MPI_Type_free(&spread);
    made[1].extent = 6;
    made[2].name = "permuted";
    const int lengths[] = {1, 1, 1}, places[] = {2, 0, 1};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &made[2].type);
    made[3].name = "mixed";
    const MPI_Aint offsets[] = {0, 2 * sizeof(int)};
    const int two_one[] = {1, 2};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Datatype record = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, two_one, offsets, types, &record);
    MPI_Type_create_resized(record, 0, 5 * sizeof(int), &made[3].type);
    MPI_Type_free(&record);
    made[3].extent = 5;
    for (Layout& l : made) MPI_Type_commit(&l.type);
    return made;
  }();
  return all;
}

// Ranks have different layouts of one signature where `mixed`.
const Layout& layout_of(int which, int rank, bool mixed) { return layouts()[size(mixed ? (which + rank) % 4 : which)]; }

std::vector<int> buffer(const Layout& l, int elements, int first) {
  std::vector<int> all(size(elements * l.extent + 4));
  std::iota(all.begin(), all.end(), first * 1000);
  return all;
}

// Runs `body(layout, mixed, count, comm)` over everything.
template <class Body>
void everywhere(const Body& body) {
  for (const Comm& c : communicators())
    for (int which = 0; which < 4; ++which)
      for (const bool mixed : {false, true})
        for (const int n : {0, 1, 1501}) {
          const Layout& l = layout_of(which, c.rank, mixed);
          SCOPED_TRACE(c.name + ", " + l.name + (mixed ? " mixed, " : ", ") + std::to_string(n));
          body(l, n, c);
          if (testing::Test::HasFailure()) return;
        }
}

}  // namespace

TEST(Moves, BcastIsThatOfTheMpi) {
  everywhere([](const Layout& l, int n, const Comm& c) {
    for (const int root : roots(c.size)) {
      auto ours = buffer(l, n, c.rank), theirs = ours;
      EXPECT_EQ(MPI_Bcast(ours.data(), n, l.type, root, c.comm), MPI_SUCCESS);
      PMPI_Bcast(theirs.data(), n, l.type, root, c.comm);
      EXPECT_EQ(ours, theirs);
    }
  });
}

TEST(Moves, AllgatherIsThatOfTheMpi) {
  everywhere([](const Layout& l, int n, const Comm& c) {
    const Layout& s = layouts()[size((c.rank + n) % 4)];
    const auto send = buffer(s, n, c.rank);
    auto ours = buffer(l, n * c.size, 7), theirs = ours;
    EXPECT_EQ(MPI_Allgather(send.data(), n, s.type, ours.data(), n, l.type, c.comm), MPI_SUCCESS);
    PMPI_Allgather(send.data(), n, s.type, theirs.data(), n, l.type, c.comm);
    EXPECT_EQ(ours, theirs);
    ours = theirs = buffer(l, n * c.size, c.rank);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours.data(), n, l.type, c.comm);
    PMPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs.data(), n, l.type, c.comm);
    EXPECT_EQ(ours, theirs);
  });
}

// MPICH cuts the blocks of its ring by the extent of a rank's own type, so ranks of different layouts truncate each
// other's messages from 80 KiB on.
constexpr int longest_gathered() {
#ifdef MPICH_NUMVERSION
  return 1000;
#else
  return 1501;
#endif
}

TEST(Moves, AllgathervIsThatOfTheMpi) {
  everywhere([](const Layout& l, int asked, const Comm& c) {
    const int n = std::min(asked, longest_gathered());
    std::vector<int> counts, starts(size(c.size));
    for (int r = 0; r < c.size; ++r) counts.push_back(n / (r % 3 + 1));
    for (int r = c.size - 1, at = 0; r >= 0; --r) {  // the last block first, with gaps
      starts[size(r)] = at;
      at += counts[size(r)] + 1;
    }
    const int room = c.size * (n + 1);
    const int own = counts[size(c.rank)];
    const auto send = buffer(l, own, c.rank);
    auto ours = buffer(l, room, 7), theirs = ours;
    EXPECT_EQ(MPI_Allgatherv(send.data(), own, l.type, ours.data(), counts.data(), starts.data(), l.type, c.comm),
              MPI_SUCCESS);
    PMPI_Allgatherv(send.data(), own, l.type, theirs.data(), counts.data(), starts.data(), l.type, c.comm);
    EXPECT_EQ(ours, theirs);
    ours = theirs = buffer(l, room, c.rank);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours.data(), counts.data(), starts.data(), l.type, c.comm);
    PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs.data(), counts.data(), starts.data(), l.type, c.comm);
    EXPECT_EQ(ours, theirs);
  });
}

TEST(Moves, GatherIsThatOfTheMpi) {
  everywhere([](const Layout& l, int n, const Comm& c) {
    for (const int root : roots(c.size))
      for (const bool in_place : {false, true}) {
        const bool here = c.rank == root;
        const auto send = buffer(l, n, c.rank);
        auto ours = buffer(l, n * c.size, 7), theirs = ours;
        const void* given = here && in_place ? MPI_IN_PLACE : send.data();
        const MPI_Datatype type = here ? l.type : MPI_DATATYPE_NULL;  // means nothing elsewhere
        EXPECT_EQ(MPI_Gather(given, n, l.type, here ? ours.data() : nullptr, here ? n : -5, type, root, c.comm),
                  MPI_SUCCESS);
        PMPI_Gather(given, n, l.type, here ? theirs.data() : nullptr, here ? n : -5, type, root, c.comm);
        EXPECT_EQ(ours, theirs);
      }
  });
}

TEST(Moves, ScatterIsThatOfTheMpi) {
  everywhere([](const Layout& l, int n, const Comm& c) {
    for (const int root : roots(c.size))
      for (const bool in_place : {false, true}) {
        const bool here = c.rank == root;
        const auto send = buffer(l, n * c.size, c.rank);
        auto ours = buffer(l, n, 7), theirs = ours;
        void* none = here && in_place ? MPI_IN_PLACE : nullptr;
        const MPI_Datatype type = here ? l.type : MPI_DATATYPE_NULL;
        EXPECT_EQ(MPI_Scatter(here ? send.data() : nullptr, here ? n : -5, type, none ? none : ours.data(), n, l.type,
                              root, c.comm),
                  MPI_SUCCESS);
        PMPI_Scatter(here ? send.data() : nullptr, here ? n : -5, type, none ? none : theirs.data(), n, l.type, root,
                     c.comm);
        EXPECT_EQ(ours, theirs);
      }
  });
}

TEST(Moves, AlltoallIsThatOfTheMpi) {
  everywhere([](const Layout& l, int n, const Comm& c) {
    const Layout& s = layouts()[size((c.rank + n) % 4)];
    const auto send = buffer(s, n * c.size, c.rank);
    auto ours = buffer(l, n * c.size, 7), theirs = ours;
    EXPECT_EQ(MPI_Alltoall(send.data(), n, s.type, ours.data(), n, l.type, c.comm), MPI_SUCCESS);
    PMPI_Alltoall(send.data(), n, s.type, theirs.data(), n, l.type, c.comm);
    EXPECT_EQ(ours, theirs);
    ours = theirs = buffer(l, n * c.size, c.rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours.data(), n, l.type, c.comm);
    PMPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs.data(), n, l.type, c.comm);
    EXPECT_EQ(ours, theirs);
  });
}

// Blocks long enough to be read where they lie, or to pass through the kernel, wherever peers can see them.
TEST(Moves, OfLongBlocksAreThoseOfTheMpi) {
  constexpr int n = 80000;
  for (const Comm& c : communicators()) {
    SCOPED_TRACE(c.name);
    const auto send = values<int>(c.rank, size(n * c.size));
    std::vector<int> ours(send.size()), theirs(send.size());
    MPI_Allgather(send.data(), n, MPI_INT, ours.data(), n, MPI_INT, c.comm);
    PMPI_Allgather(send.data(), n, MPI_INT, theirs.data(), n, MPI_INT, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Alltoall(send.data(), n, MPI_INT, ours.data(), n, MPI_INT, c.comm);
    PMPI_Alltoall(send.data(), n, MPI_INT, theirs.data(), n, MPI_INT, c.comm);
    EXPECT_EQ(ours, theirs);
    const int root = c.size - 1;
    MPI_Gather(send.data(), n, MPI_INT, ours.data(), n, MPI_INT, root, c.comm);
    PMPI_Gather(send.data(), n, MPI_INT, theirs.data(), n, MPI_INT, root, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Scatter(send.data(), n, MPI_INT, ours.data(), n, MPI_INT, root, c.comm);
    PMPI_Scatter(send.data(), n, MPI_INT, theirs.data(), n, MPI_INT, root, c.comm);
    EXPECT_EQ(ours, theirs);
    ours = theirs = values<int>(c.rank, size(n));
    MPI_Bcast(ours.data(), n, MPI_INT, root, c.comm);
    PMPI_Bcast(theirs.data(), n, MPI_INT, root, c.comm);
    EXPECT_EQ(ours, theirs);
  }
}

TEST(Moves, ATypeOfAnotherSizeWithTheSameSignatureIsReceived) {
  for (const Comm& c : communicators()) {
    std::vector<int> x(12, c.rank);
    if (c.rank == 0)
      MPI_Bcast(x.data(), 12, MPI_INT, 0, c.comm);
    else
      MPI_Bcast(x.data(), 4, layouts()[0].type, 0, c.comm);
    EXPECT_EQ(x, std::vector<int>(12, 0));
  }
}

TEST(Moves, BarrierReturns) {
  for (const Comm& c : communicators()) EXPECT_EQ(MPI_Barrier(c.comm), MPI_SUCCESS);
}

// MPI forbids, but some programs do it and an MPI may accept it: a rank's block passed in place of the block in the
// whole. Only some ranks then differ.
TEST(Moves, OneBufferOnBothSidesIsInPlace) {
  for (const Comm& c : communicators()) {
    if (c.size == 1) continue;  // left to the MPI
    for (int k = 0; k < 4; ++k) MPI_Barrier(c.comm);
    const int n = 1000, p = c.size;
    for (int turn = 0; turn < 5; ++turn) {
      std::vector<int> all(size(n * p), -1), own(size(n), -1);
      const auto filled = [&](int rank) { std::fill_n(all.begin() + rank * n, n, 100 * turn + rank); };
      filled(c.rank);
      MPI_Allgather(all.data() + c.rank * n, n, MPI_INT, all.data(), n, MPI_INT, c.comm);
      for (int r = 0; r < p; ++r) ASSERT_EQ(all[size(r * n + n - 1)], 100 * turn + r) << c.name;
      if (c.rank == 0) {
        MPI_Scatter(all.data(), n, MPI_INT, all.data(), n, MPI_INT, 0, c.comm);
      } else {
        MPI_Scatter(nullptr, n, MPI_INT, own.data(), n, MPI_INT, 0, c.comm);
        EXPECT_EQ(own[0], 100 * turn + c.rank) << c.name;
      }
      const void* mine = c.rank == 0 ? all.data() : own.data();
      MPI_Gather(mine, n, MPI_INT, all.data(), n, MPI_INT, 0, c.comm);
      EXPECT_EQ(all[size((p - 1) * n)], 100 * turn + p - 1) << c.name;
    }
  }
}
