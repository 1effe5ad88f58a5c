#include "mpi/process/lifecycle.hpp"

#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/guarded.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/inherited_bound.hpp"
#include "mpi/process/own_mpi.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/process/tell.hpp"
#include "mpi/report/unreported.hpp"
#include "mpi/requests/cores.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {
namespace {

class Allocations {
 public:
  bool take(std::size_t bytes, void** at) {
    if (stretto_alloc(bytes, at) != STRETTO_OK) return false;
    const std::lock_guard lock(mutex_);
    all_.insert(*at);
    return true;
  }
  bool give_back(void* at) {
    {
      const std::lock_guard lock(mutex_);
      if (all_.erase(at) == 0) return false;
    }
    return stretto_free(at) == STRETTO_OK;
  }

 private:
  std::mutex mutex_;
  std::set<void*> all_;
};

Allocations& allocations() {
  static Allocations& all = *new Allocations;  // never destroyed: programs free late
  return all;
}

// Smaller memory would waste the arena's pages, and is copied as fast.
constexpr MPI_Aint kLeastLent = 65536;

}  // namespace

bool may_begin() noexcept {
  mpi_was_seen();
  return is_own_mpi();
}

int initialised(int code) noexcept {
  if (code == MPI_SUCCESS) open_up();
  return code;
}

int informed(int code, MPI_Comm comm, MPI_Info info) noexcept {
  if (code != MPI_SUCCESS || !serves()) return code;
  const bool read = attempt([&] {
    if (const std::string complaint = take_info(comm, info); !complaint.empty())
      tell_once(complaint + "; the communicator goes on without it");
  });
  if (!read) tell_once("no memory to read an info key");
  return code;
}

int constructed(int code, MPI_Comm comm, const char* by, MPI_Info info) noexcept {
  if (code == MPI_SUCCESS && comm != MPI_COMM_NULL && serves())
    if (Communicator* c = find_communicator(comm)) {
      c->made_by = by;
      const Runtime* const r = runtime();
      if (r && r->threads) reserve(comm, c, r->settings.timeout);
      if (r && r->cores) ready_for_started(comm, c, *r);
    }
  return informed(code, comm, info);
}

InheritedBound::InheritedBound(MPI_Comm parent, MPI_Info info) noexcept {
  if (parent == MPI_COMM_NULL || !serves()) return;
  const bool read = attempt([&] {
    std::string complaint;
    const std::optional<std::optional<Bound>> given = bound_in(info, &complaint);
    if (!complaint.empty()) tell_once(complaint + "; the communicator goes on without it");
    if (!given || !*given) return;
    find_communicator(parent);  // reads its own inherited bound
    if (hand_on(parent, **given)) parent_ = parent;
  });
  if (!read) tell_once("no memory to read an info key");
}

InheritedBound::~InheritedBound() {
  if (parent_ != MPI_COMM_NULL) end_inheritance(parent_);
}

bool lend(MPI_Aint bytes, MPI_Info info, void* at) noexcept {
  if (bytes < kLeastLent || info != MPI_INFO_NULL || !at || !serves()) return false;
  return value_or(false, [&] {  // the MPI may have memory
    return allocations().take(static_cast<std::size_t>(bytes), static_cast<void**>(at));
  });
}

bool take_back(void* at) noexcept { return allocations().give_back(at); }

}  // namespace stretto::mpi

using namespace stretto::mpi;

STRETTO_WRAPPER int MPI_Init(int* argc, char*** argv) {
  return may_begin() ? initialised(PMPI_Init(argc, argv)) : MPI_ERR_OTHER;
}

STRETTO_WRAPPER int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return may_begin() ? initialised(PMPI_Init_thread(argc, argv, required, provided)) : MPI_ERR_OTHER;
}

STRETTO_WRAPPER int MPI_Finalize() {
  close_down();
  return PMPI_Finalize();
}

STRETTO_WRAPPER int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  return informed(PMPI_Comm_set_info(comm, info), comm, info);
}

STRETTO_WRAPPER int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  return lend(size, info, baseptr) ? MPI_SUCCESS : PMPI_Alloc_mem(size, info, baseptr);
}

STRETTO_WRAPPER int MPI_Free_mem(void* base) { return take_back(base) ? MPI_SUCCESS : PMPI_Free_mem(base); }
