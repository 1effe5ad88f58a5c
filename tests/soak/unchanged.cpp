// A plain MPI program for the profiling library: communicators come and go, and collectives of drawn shapes match
// arithmetic.
#include <vector>

#include "ranks.hpp"

using namespace soak;

namespace {

struct Shape {
  int kind, count, root;
};

// Each rank gives `own + place`, and `own` is its number + 1. Returns whether the result is right.
bool call(const Shape& s, MPI_Comm comm) {
  const int rank = rank_in(comm), ranks = ranks_in(comm), n = s.count;
  const auto size = static_cast<std::size_t>(n), all = size * static_cast<std::size_t>(ranks);
  const auto own = [](int r, int i) { return static_cast<double>(r + 1 + i % 97); };
  std::vector<double> x(size), y(all, -1), blocks(all);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = own(rank, i);
  for (std::size_t i = 0; i < all; ++i) blocks[i] = own(rank, static_cast<int>(i));
  double sum_of_ranks = 0;
  for (int r = 0; r < ranks; ++r) sum_of_ranks += r;
  const auto right = [&](int from, int length, const auto& expected) {
    for (int i = 0; i < length; ++i)
      if (y[static_cast<std::size_t>(from + i)] != expected(i)) return false;
    return true;
  };
  const auto sum = [&](int i) { return sum_of_ranks + ranks * own(0, i); };
  switch (s.kind) {
    case 0: MPI_Allreduce(x.data(), y.data(), n, MPI_DOUBLE, MPI_SUM, comm); return right(0, n, sum);
    case 1:
      MPI_Reduce(x.data(), y.data(), n, MPI_DOUBLE, MPI_SUM, s.root, comm);
      return rank != s.root || right(0, n, sum);
    case 2:
      if (rank == s.root) y.assign(x.begin(), x.end());
      y.resize(all, -1);
      MPI_Bcast(y.data(), n, MPI_DOUBLE, s.root, comm);
      return right(0, n, [&](int i) { return own(s.root, i); });
    case 3: {
      MPI_Allgather(x.data(), n, MPI_DOUBLE, y.data(), n, MPI_DOUBLE, comm);
      bool ok = true;
      for (int r = 0; r < ranks; ++r) ok = ok && right(r * n, n, [&](int i) { return own(r, i); });
      return ok;
    }
    case 4: {
      MPI_Alltoall(blocks.data(), n, MPI_DOUBLE, y.data(), n, MPI_DOUBLE, comm);
      bool ok = true;
      for (int r = 0; r < ranks; ++r) ok = ok && right(r * n, n, [&](int i) { return own(r, rank * n + i); });
      return ok;
    }
    case 5:
      MPI_Scatter(blocks.data(), n, MPI_DOUBLE, y.data(), n, MPI_DOUBLE, s.root, comm);
      return right(0, n, [&](int i) { return own(s.root, rank * n + i); });
    default: MPI_Barrier(comm); return true;
  }
}

Shape drawn(Draws& draws, int ranks) {
  const int longest = 1 << draws.below(17);
  return {static_cast<int>(draws.below(7)), static_cast<int>(draws.below(static_cast<std::uint64_t>(longest))) + 1,
          static_cast<int>(draws.below(static_cast<std::uint64_t>(ranks)))};
}

// Shapes that repeat, as in programs. Returns the number of wrong results.
int run(MPI_Comm comm, Draws& draws, long* calls) {
  int wrong = 0;
  const int ranks = ranks_in(comm);
  for (std::uint64_t shapes = 1 + draws.below(6); shapes > 0; --shapes) {
    const Shape shape = drawn(draws, ranks);
    const std::uint64_t most_repeats = shape.count > 4096 ? 12 : 150;
    for (std::uint64_t repeats = 1 + draws.below(most_repeats); repeats > 0; --repeats, ++*calls) {
      if (call(shape, comm)) continue;
      ++wrong;
      std::fprintf(stderr, "rank %d of %d: wrong: kind %d, count %d, root %d\n", rank_in(comm), ranks, shape.kind,
                   shape.count, shape.root);
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long doomed_calls = 0;
  const auto doomed = [&](Draws& draws) { run(MPI_COMM_WORLD, draws, &doomed_calls); };
  const int status = soak::soak(Arguments(argc, argv), doomed, run);
  MPI_Finalize();
  return status;
}
