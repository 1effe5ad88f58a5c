#include "mpi/report/texts.hpp"
#include "base/guarded.hpp"

#include <mpi.h>

#include <numeric>
#include <utility>

namespace stretto::mpi {
namespace {

// All ranks learn the result of rank 0's allocation.
template <class Make>
Status on_root(int rank, const Make& make) noexcept {
  int made = rank != 0 || attempt(make) ? 1 : 0;
  if (PMPI_Bcast(&made, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, std::string_view("MPI_Bcast failed"));
  return made ? Status::ok : fail(Status::out_of_memory, std::string_view("no memory on rank 0"));
}

}  // namespace

Status gather_texts(std::string_view own, std::vector<std::string>* all) noexcept {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto n = static_cast<std::size_t>(ranks);
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths, starts;
  std::vector<std::string> made;
  std::string text;
  Status s = on_root(rank, [&] {
    lengths.resize(n);
    starts.resize(n);
    made.resize(n);
  });
  if (s != Status::ok) return s;
  if (PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, std::string_view("MPI_Gather failed"));
  s = on_root(rank, [&] {
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    text.resize(static_cast<std::size_t>(starts.back()) + static_cast<std::size_t>(lengths.back()));
    for (std::size_t r = 0; r < n; ++r) made[r].resize(static_cast<std::size_t>(lengths[r]));
  });
  if (s != Status::ok) return s;
  if (PMPI_Gatherv(own.data(), length, MPI_CHAR, text.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
                   MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, std::string_view("MPI_Gatherv failed"));
  for (std::size_t r = 0; r < made.size(); ++r)
    text.copy(made[r].data(), made[r].size(), static_cast<std::size_t>(starts[r]));
  *all = std::move(made);
  return Status::ok;
}

}  // namespace stretto::mpi
