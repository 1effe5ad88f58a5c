#include <mpi.h>

#include "backend/build.hpp"
#include "backend/module.hpp"
#include "modules/mpi/transport.hpp"

using namespace stretto;

#define STRETTO_TEXT_OF(x) #x
#define STRETTO_TEXT(x) STRETTO_TEXT_OF(x)

namespace {

#if defined(MPI_ABI)
constexpr const char* kBuiltFor = "the standard binary interface of MPI " STRETTO_TEXT(MPI_VERSION);
#elif defined(OPEN_MPI)
constexpr const char* kBuiltFor = "Open MPI " STRETTO_TEXT(OMPI_MAJOR_VERSION) "." STRETTO_TEXT(
    OMPI_MINOR_VERSION) "." STRETTO_TEXT(OMPI_RELEASE_VERSION);
#else
constexpr const char* kBuiltFor = "MPICH " MPICH_VERSION;
#endif

Status transport_of(const void* comm, std::unique_ptr<backend::Transport>* transport) noexcept {
  return modules::make_mpi_transport(*static_cast<const MPI_Comm*>(comm), transport);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const backend::Module stretto_module = {
    STRETTO_VERSION, backend::build_id, kBuiltFor, nullptr, transport_of, nullptr};
