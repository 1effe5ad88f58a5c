#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "api/creation/create.hpp"
#include "api/creation/modules.hpp"
#include "call/enums.hpp"

using namespace stretto;
using call::to_c;

namespace {

const char* words(stretto_mpi abi) noexcept {
  switch (abi) {
    case STRETTO_MPI_OPENMPI: return "Open MPI";
    case STRETTO_MPI_MPICH: return "MPICH or its kin";
    case STRETTO_MPI_STANDARD: return "the standard binary interface of MPI";
    case STRETTO_MPI_LOADED: break;
  }
  return "no MPI that stretto knows";
}

// Found once, so that later calls allocate nothing, and fail on no rank alone.
struct Fitting {
  std::atomic<const backend::Module*> module{nullptr};
  stretto_mpi abi = STRETTO_MPI_LOADED;  // written before `module`
};
Fitting fitting;

Status find_fitting() noexcept {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (fitting.module.load(std::memory_order_relaxed)) return Status::ok;
  api::LoadedMpi mpi;
  if (const Status s = api::find_loaded_mpi(&mpi); s != Status::ok) return s;
  if (mpi.abi == STRETTO_MPI_LOADED)
    return fail(Status::unsupported, "the MPI of this process is '{}', for which stretto has no module", mpi.version);
  const backend::Module* module = nullptr;
  const Status s = api::find_module(api::module_of(mpi.abi), &module);
  if (s == Status::unsupported) {
    std::array<char, 384> why{};
    copy_message(why);
    return fail(s, "the MPI of this process is '{}'; {}; build stretto with that MPI's mpicc, or set STRETTO_MODULES",
                mpi.version, why.data());
  }
  if (s != Status::ok) return s;
  fitting.abi = mpi.abi;
  fitting.module.store(module, std::memory_order_release);
  return Status::ok;
}

}  // namespace

extern "C" stretto_status stretto_comm_create_from(const void* mpi_comm, stretto_mpi compiled_for, stretto_comm* comm) {
  if (comm) *comm = nullptr;
  if (!mpi_comm) return to_c(fail(Status::invalid_argument, "mpi_comm is NULL"));
  if (compiled_for < STRETTO_MPI_LOADED || compiled_for > STRETTO_MPI_STANDARD)
    return to_c(fail(Status::invalid_argument, "compiled_for is {}, which is no stretto_mpi", int(compiled_for)));
  if (!fitting.module.load(std::memory_order_acquire)) {
    if (const Status s = find_fitting(); s != Status::ok) return to_c(s);
  }
  if (compiled_for != STRETTO_MPI_LOADED && compiled_for != fitting.abi)
    return to_c(fail(Status::unsupported, "the caller was compiled for {}, and the MPI of this process is {}",
                     words(compiled_for), words(fitting.abi)));
  const backend::Module* const module = fitting.module.load(std::memory_order_relaxed);
  std::unique_ptr<backend::Transport> transport;
  if (const Status s = module->transport_of(mpi_comm, &transport); s != Status::ok) return to_c(s);
  return to_c(api::create(std::move(transport), model::Carrier::mpi, comm));
}
