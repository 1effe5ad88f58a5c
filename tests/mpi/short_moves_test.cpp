// Short alltoalls within a bound between several hosts, whose ranks may name the data by different types. Arguments:
// the ranks of each host; an absolute bound (STRETTO_BOUND, with STRETTO_BOUND_MOVES=1).
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../api/placed.hpp"
#include "../launched.hpp"

namespace {

double bound = 0;
std::vector<int> host_of;
constexpr int kN = 200;

class ShortMoves : public testing::Test {
 protected:
  ShortMoves() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // A long call makes stretto's communicator.
    std::vector<double> x(100000, 1), y(x.size());
    MPI_Allreduce(x.data(), y.data(), static_cast<int>(x.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  double value(int from, int to, int i) const { return std::sin(0.1 * i + to) * (1 + from); }
  bool crosses(int other) const {
    return host_of[static_cast<std::size_t>(other)] != host_of[static_cast<std::size_t>(rank)];
  }

  int rank = 0, ranks = 1;
};

// The type by which a rank names its doubles, and how many there are of it in a block.
struct Named {
  MPI_Datatype type;
  int count;
};

}  // namespace

TEST_F(ShortMoves, ValuesAreWithinTheBound) {
  double most = 0;
  for (int call = 0; call < 4; ++call) {
    std::vector<double> x, y(static_cast<std::size_t>(kN * ranks));
    for (int to = 0; to < ranks; ++to)
      for (int i = 0; i < kN; ++i) x.push_back(value(rank, to, i));
    ASSERT_EQ(MPI_Alltoall(x.data(), kN, MPI_DOUBLE, y.data(), kN, MPI_DOUBLE, MPI_COMM_WORLD), MPI_SUCCESS);
    for (int from = 0; from < ranks; ++from)
      for (int i = 0; i < kN; ++i) {
        const double error = std::fabs(y[static_cast<std::size_t>(from * kN + i)] - value(from, rank, i));
        ASSERT_LE(error, crosses(from) ? bound : 0) << i << " of rank " << from;
        most = std::max(most, error);
      }
  }
  EXPECT_GT(most, 0);  // streams did travel
}

// Rank 0, and in the second call all others, name bytes. Hosts with both types send values as they are.
TEST_F(ShortMoves, RanksMayNameTheDataDifferently) {
  const Named doubles{MPI_DOUBLE, kN}, bytes{MPI_BYTE, static_cast<int>(kN * sizeof(double))};
  for (const bool most_name_bytes : {false, true})
    for (int call = 0; call < 3; ++call) {
      const auto named = [&](int r) { return (r == 0) != most_name_bytes ? bytes : doubles; };
      std::vector<double> x, y(static_cast<std::size_t>(kN * ranks));
      for (int to = 0; to < ranks; ++to)
        for (int i = 0; i < kN; ++i) x.push_back(value(rank, to, i));
      const Named own = named(rank);
      ASSERT_EQ(MPI_Alltoall(x.data(), own.count, own.type, y.data(), own.count, own.type, MPI_COMM_WORLD),
                MPI_SUCCESS);
      for (int from = 0; from < ranks; ++from)
        for (int i = 0; i < kN; ++i) {
          const bool exact = !crosses(from) || named(from).type == MPI_BYTE;
          ASSERT_LE(std::fabs(y[static_cast<std::size_t>(from * kN + i)] - value(from, rank, i)), exact ? 0 : bound)
              << i << " of rank " << from;
        }
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  host_of = api_test::placed(argv[1], ranks);
  bound = std::atof(argv[2]);
  setenv("STRETTO_HOST", ("host" + std::to_string(host_of[static_cast<std::size_t>(rank)])).c_str(), 1);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
