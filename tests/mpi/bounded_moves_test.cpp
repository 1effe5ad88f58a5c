// Moved floating-point data within a bound, where a rule names the collective or STRETTO_BOUND_MOVES=1. Arguments: the
// bound; "named" if rules name the collectives, so that minima and maxima stay exact. Rules force streams.
#include <complex>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

double bound = 0;
bool named = false;
constexpr int kN = 20000;

template <class T>
struct Named {};
template <>
struct Named<float> {
  static MPI_Datatype type() { return MPI_FLOAT; }
};
template <>
struct Named<double> {
  static MPI_Datatype type() { return MPI_DOUBLE; }
};

template <class T>
std::vector<T> large(int rank, int count) {
  std::vector<T> x = rough<T>(rank, count);
  for (T& v : x) v *= T{100};
  return x;
}

// `crossed`: some values came from another rank.
template <class T>
void near(const std::vector<T>& ours, const std::vector<T>& exact, bool crossed) {
  const double most = difference(ours, exact);
  EXPECT_LE(most, bound * (1 + 1e-6) + 1e-5);  // float32 rounds values of up to 106
  if (crossed) {
    EXPECT_GT(most, 0);  // streams did travel
  }
}

template <class T>
class Moves : public testing::Test {
 protected:
  Moves() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    several = ranks > 1;
  }
  // Blocks of all ranks, one after the other.
  std::vector<T> all(int count) const {
    std::vector<T> x;
    for (int r = 0; r < ranks; ++r) {
      const std::vector<T> one = large<T>(r, count);
      x.insert(x.end(), one.begin(), one.end());
    }
    return x;
  }
  int rank = 0, ranks = 1;
  bool several = false;
  const MPI_Datatype type = Named<T>::type();
};

using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Moves, Floats);

template <class T>
void expect_equal_on_all(const std::vector<T>& x) {
  std::vector<T> first = x;
  PMPI_Bcast(first.data(), static_cast<int>(first.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(std::memcmp(first.data(), x.data(), x.size() * sizeof(T)), 0);
}

}  // namespace

TYPED_TEST(Moves, ABroadcastGivesAllRanksTheSameBits) {
  for (const int root : roots(this->ranks)) {
    const auto exact = large<TypeParam>(root, kN);
    auto x = large<TypeParam>(this->rank, kN);
    ASSERT_EQ(MPI_Bcast(x.data(), kN, this->type, root, MPI_COMM_WORLD), MPI_SUCCESS);
    near(x, exact, this->several);
    expect_equal_on_all(x);
  }
}

TYPED_TEST(Moves, AllgatherGivesAllRanksTheSameBits) {
  const auto x = large<TypeParam>(this->rank, kN), exact = this->all(kN);
  std::vector<TypeParam> all(exact.size());
  ASSERT_EQ(MPI_Allgather(x.data(), kN, this->type, all.data(), kN, this->type, MPI_COMM_WORLD), MPI_SUCCESS);
  near(all, exact, this->several);
  expect_equal_on_all(all);
  std::vector<TypeParam> again(exact.size());
  std::copy(x.begin(), x.end(), again.begin() + this->rank * kN);
  ASSERT_EQ(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, again.data(), kN, this->type, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(again, all);
}

TYPED_TEST(Moves, BlocksOfAnyLengthsAreGathered) {
  std::vector<int> counts, places;
  int end = 0;
  for (int r = 0; r < this->ranks; ++r) {
    counts.push_back(kN + 700 * r);
    places.push_back(end + 5);
    end += counts.back() + 5;
  }
  const auto x = large<TypeParam>(this->rank, counts[size(this->rank)]);
  std::vector<TypeParam> all(size(end), TypeParam{-7}), exact = all;
  for (int r = 0; r < this->ranks; ++r) {
    const auto one = large<TypeParam>(r, counts[size(r)]);
    std::copy(one.begin(), one.end(), exact.begin() + places[size(r)]);
  }
  ASSERT_EQ(MPI_Allgatherv(x.data(), counts[size(this->rank)], this->type, all.data(), counts.data(), places.data(),
                           this->type, MPI_COMM_WORLD),
            MPI_SUCCESS);
  near(all, exact, this->several);
  for (const int place : places) EXPECT_EQ(all[size(place) - 1], TypeParam{-7});
}

TYPED_TEST(Moves, GatherAndScatterMoveEachBlock) {
  for (const int root : roots(this->ranks)) {
    const auto x = large<TypeParam>(this->rank, kN), exact = this->all(kN);
    std::vector<TypeParam> all(this->rank == root ? exact.size() : 0), mine(size(kN));
    ASSERT_EQ(MPI_Gather(x.data(), kN, this->type, all.data(), kN, this->type, root, MPI_COMM_WORLD), MPI_SUCCESS);
    if (this->rank == root) near(all, exact, this->several);
    ASSERT_EQ(MPI_Scatter(exact.data(), kN, this->type, mine.data(), kN, this->type, root, MPI_COMM_WORLD),
              MPI_SUCCESS);
    near(mine, x, this->rank != root);
    const bool here = this->rank == root;
    ASSERT_EQ(MPI_Scatter(exact.data(), kN, this->type, here ? MPI_IN_PLACE : mine.data(), kN, this->type, root,
                          MPI_COMM_WORLD),
              MPI_SUCCESS);
  }
}

TYPED_TEST(Moves, AlltoallMovesEachBlock) {
  const auto x = this->all(kN);
  std::vector<TypeParam> all(x.size()), exact;
  for (int r = 0; r < this->ranks; ++r)
    exact.insert(exact.end(), x.begin() + this->rank * kN, x.begin() + (this->rank + 1) * kN);
  ASSERT_EQ(MPI_Alltoall(x.data(), kN, this->type, all.data(), kN, this->type, MPI_COMM_WORLD), MPI_SUCCESS);
  near(all, exact, this->several);
}

TYPED_TEST(Moves, ExtremesAreBoundedUnderTheVariableAlone) {
  const auto x = large<TypeParam>(this->rank, kN);
  std::vector<TypeParam> ours(size(kN)), exact(size(kN));
  for (const MPI_Op op : {MPI_MIN, MPI_MAX}) {
    ASSERT_EQ(MPI_Allreduce(x.data(), ours.data(), kN, this->type, op, MPI_COMM_WORLD), MPI_SUCCESS);
    PMPI_Allreduce(x.data(), exact.data(), kN, this->type, op, MPI_COMM_WORLD);
    if (named)
      EXPECT_EQ(ours, exact);
    else
      near(ours, exact, this->several);
  }
}

TEST(Moves, ComplexNumbersMoveByTheirParts) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> x = large<double>(0, 2 * kN), exact = x;
  ASSERT_EQ(MPI_Bcast(x.data(), kN, MPI_C_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  near(x, exact, ranks > 1);
  expect_equal_on_all(x);
}

TEST(Moves, OtherTypesStayExact) {
  const auto exact = values<int>(3, kN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto x = rank == 0 ? exact : values<int>(rank, kN);
  ASSERT_EQ(MPI_Bcast(x.data(), kN, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(x, exact);
}

// One signature: rank 0 names pairs of numbers, the others numbers.
TEST(Moves, TypesThatDifferBetweenRanksStayExact) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  const auto exact = large<double>(0, kN);
  auto x = large<double>(rank, kN);
  for (int call = 0; call < 3; ++call) {
    x = large<double>(rank, kN);
    ASSERT_EQ(rank == 0 ? MPI_Bcast(x.data(), kN / 2, pair, 0, MPI_COMM_WORLD)
                        : MPI_Bcast(x.data(), kN, MPI_DOUBLE, 0, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(x, exact);
  }
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  bound = argc > 1 ? std::atof(argv[1]) : 0;
  named = argc > 2 && std::string_view(argv[2]) == "named";
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
