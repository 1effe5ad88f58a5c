#include "ranks.hpp"
#include <unistd.h>

#include "bench/mpi.hpp"

namespace stretto::doctor {
namespace {

constexpr std::size_t kNameSize = 256;

std::string own_host_name() {
  char name[kNameSize] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Ranks::Ranks(MPI_Comm world) {
  MPI_Comm_dup(world, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  // Who shares memory is on one host; the host's number is that of its lowest rank, until they are counted.
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared);
  int lowest = rank;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, shared);
  MPI_Comm_free(&shared);
  std::vector<int> lowest_of(static_cast<std::size_t>(size));
  MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, comm);

  const auto all = static_cast<std::size_t>(size);
  std::string own = own_host_name();
  own.resize(kNameSize);
  std::vector<char> text(all * kNameSize);
  MPI_Allgather(own.data(), kNameSize, MPI_CHAR, text.data(), kNameSize, MPI_CHAR, comm);

  std::vector<int> number(all, -1);
  for (std::size_t r = 0; r < all; ++r) {
    const auto low = static_cast<std::size_t>(lowest_of[r]);
    if (number[low] < 0) {
      number[low] = static_cast<int>(names.size());
      names.emplace_back(text.data() + low * kNameSize);
    }
    host_of.push_back(number[low]);
  }
  hosts = static_cast<int>(names.size());
}

Ranks::~Ranks() { MPI_Comm_free(&comm); }

std::vector<int> Ranks::of_host(int host) const {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) {
    if (host_of[static_cast<std::size_t>(r)] == host) all.push_back(r);
  }
  return all;
}

std::string mpi_version() { return bench::mpi_version(); }

}  // namespace stretto::doctor
