#include "mpi/texts.hpp"

#include <mpi.h>

#include <numeric>

namespace stretto::mpi {

Status gather_texts(const std::string& own, std::vector<std::string>* all) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(rank == 0 ? static_cast<std::size_t>(ranks) : 0), starts(lengths.size());
  if (PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Gather failed");
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
  std::string text(rank == 0 ? static_cast<std::size_t>(starts.back() + lengths.back()) : 0, ' ');
  if (PMPI_Gatherv(own.data(), length, MPI_CHAR, text.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
                   MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Gatherv failed");
  for (std::size_t r = 0; r < lengths.size(); ++r)
    all->push_back(text.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r])));
  return Status::ok;
}

Status spread_text(std::string* text) {
  int length = static_cast<int>(text->size());
  if (PMPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Bcast failed");
  text->resize(static_cast<std::size_t>(length));
  if (PMPI_Bcast(text->data(), length, MPI_CHAR, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Bcast failed");
  return Status::ok;
}

}  // namespace stretto::mpi
