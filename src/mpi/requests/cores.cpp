#include "mpi/requests/cores.hpp"

#include <array>
#include <climits>
#include <cstdio>
#include <string>
#include <vector>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "base/status.hpp"
#include "mpi/process/tell.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/started.hpp"
#include "stretto/stretto_nonblocking.h"

namespace stretto::mpi {
namespace {

bool before_free(const Communicator* c) noexcept {
  constexpr double patience = 300;
  forget_prepared(c);
  if (finish_all(c, patience)) return true;
  std::fprintf(stderr, "stretto: a communicator was freed with collectives in flight, not complete after %g s\n",
               patience);
  return false;
}

Status take_free_core() noexcept {
  int rank = 0, ranks = 0;
  MPI_Comm host = MPI_COMM_NULL;
  if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS)
    return fail(Status::mpi_error, std::string_view("the ranks of this host cannot be found"));
  PMPI_Comm_rank(host, &rank);
  PMPI_Comm_size(host, &ranks);
  const Status s = guarded("to find a free core", [&]() -> Status {
    const topology::Cpus mine = topology::bound_to();
    std::vector<topology::Cpus> bound(static_cast<std::size_t>(ranks));
    constexpr int length = sizeof mine;
    if (PMPI_Allgather(&mine, length, MPI_BYTE, bound.data(), length, MPI_BYTE, host) != MPI_SUCCESS)
      return fail(Status::mpi_error, std::string_view("what the ranks of this host are bound to cannot be found"));
    return api::use_free_core(bound, static_cast<std::size_t>(rank));
  });
  PMPI_Comm_free(&host);
  return s;
}

}  // namespace

void open_cores(Runtime* r) noexcept {
  if (!r->settings.cores) return;
  std::array<char, 512> text{};
  const Status s = r->settings.free_cores ? take_free_core() : api::ask_comm_cores();
  if (s != Status::ok) copy_message(text);
  int rank = 0, failed = INT_MAX;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = s == Status::ok ? INT_MAX : rank;
  int level = MPI_THREAD_SINGLE, least = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  PMPI_Allreduce(&level, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (PMPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && failed == INT_MAX) {
    r->cores = true;
    r->any_thread = least == MPI_THREAD_MULTIPLE;
    set_before_free(before_free);
    ready_for_started(MPI_COMM_WORLD, find_communicator(MPI_COMM_WORLD), *r);
    return;
  }
  static_cast<void>(stretto_comm_cores(nullptr, 0));  // ignores the environment from now on
  if (failed == INT_MAX) return;
  PMPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, failed, MPI_COMM_WORLD);
  const bool told = attempt([&] {
    tell_once(std::string(r->settings.free_cores ? "STRETTO_COMM_CORES=auto: " : "") + text.data() + " (rank " +
              std::to_string(failed) + "); there are no communication cores");
  });
  if (!told) tell_once(text.data());
}

void ready_for_started(MPI_Comm comm, Communicator* c, const Runtime& r) noexcept {
  if (c && !c->inter && c->size > 1) make_unless_short_lived(comm, c, r.settings.timeout);
}

}  // namespace stretto::mpi
