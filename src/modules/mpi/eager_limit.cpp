#include "modules/mpi/eager_limit.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace stretto::modules {
namespace {

constexpr std::size_t header = 1024;
constexpr std::size_t worth_it = 32768;  // below, messages would be too many to beat a rendezvous

// False: the MPI lacks it, or has closed its component.
bool read(const char* name, std::uint64_t* value) noexcept {
  int index = 0, count = 0, verbosity = 0, binding = 0, scope = 0, name_length = 0, text_length = 0, bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return false;
  if (MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, nullptr, nullptr, &text_length, &binding,
                          &scope) != MPI_SUCCESS)
    return false;
  if (binding != MPI_T_BIND_NO_OBJECT || MPI_Type_size(type, &bytes) != MPI_SUCCESS) return false;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return false;
  std::array<std::byte, 8> raw{};
  const bool fits = count == 1 && (bytes == 4 || bytes == 8);
  const bool known = fits && MPI_T_cvar_read(handle, raw.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!known) return false;
  std::uint32_t narrow = 0;
  std::memcpy(&narrow, raw.data(), sizeof narrow);
  std::memcpy(value, raw.data(), sizeof *value);
  if (bytes == 4) *value = narrow;
  return true;
}

// Open MPI over TCP: component ob1 (unselected ones lose their variables) above tcp. Other MPIs over TCP (MPICH) use no
// rendezvous; those over RDMA fetch announced messages past any queue.
std::size_t query_eager_limit() noexcept {
  // Open MPI makes this the process' level: request the current one.
  int level = MPI_THREAD_SINGLE, provided = 0;
  if (MPI_Query_thread(&level) != MPI_SUCCESS || MPI_T_init_thread(level, &provided) != MPI_SUCCESS) return 0;
  std::uint64_t selected = 0, limit = 0;
  const bool known = read("pml_ob1_verbose", &selected) && read("btl_tcp_eager_limit", &limit);
  MPI_T_finalize();
  return known && limit >= worth_it + header ? static_cast<std::size_t>(limit - header) : 0;
}

}  // namespace

std::size_t mpi_eager_limit() noexcept {
  static const std::size_t once = query_eager_limit();
  return once;
}

}  // namespace stretto::modules
