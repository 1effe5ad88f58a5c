// The ranks of this job: who is on which host.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace stretto::doctor {

struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate of the world
  int rank = 0, size = 1;
  int hosts = 1;
  std::vector<int> host_of;        // by rank; hosts are numbered in the order of their lowest rank
  std::vector<std::string> names;  // of the hosts

  explicit Ranks(MPI_Comm world);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> of_host(int host) const;
};

// "Open MPI 5.0.11": flavour and version, as profiles name an MPI.
std::string mpi_version();

}  // namespace stretto::doctor
