#include "api/share_mpi.hpp"

#include <algorithm>
#include <array>

namespace stretto::api {

Status agree(MPI_Comm comm, Status own) noexcept {
  int mine = static_cast<int>(own), worst = mine;
  if (MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS)
    return fail(Status::mpi_error, "MPI_Allreduce failed while a communicator was created");
  if (own != Status::ok || worst == 0) return own;
  return fail(static_cast<Status>(worst), "another rank could not create its communicator ({})",
              name(static_cast<Status>(worst)));
}

Status share_text(MPI_Comm comm, std::string_view given, std::string* text) noexcept {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  auto length = static_cast<long long>(given.size());
  bool passed = MPI_Bcast(&length, 1, MPI_LONG_LONG, 0, comm) == MPI_SUCCESS;
  const auto all = static_cast<std::size_t>(length);
  bool room = true;
  try {
    text->clear();
    text->reserve(all);
  } catch (...) {
    room = false;
  }
  std::array<char, 8192> piece;
  for (std::size_t done = 0; done < all;) {
    const std::size_t n = std::min(piece.size(), all - done);
    if (rank == 0) std::copy_n(given.begin() + static_cast<std::ptrdiff_t>(done), n, piece.begin());
    passed &= MPI_Bcast(piece.data(), static_cast<int>(n), MPI_CHAR, 0, comm) == MPI_SUCCESS;
    if (room) text->append(piece.data(), n);
    done += n;
  }
  if (!passed) return fail(Status::mpi_error, "MPI_Bcast failed while a communicator was created");
  return room ? Status::ok : fail(Status::out_of_memory, "no memory for {} bytes that rank 0 shares", all);
}

}  // namespace stretto::api
