#include "modules/mpi/variables.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace stretto::modules {
namespace {

std::atomic<bool> yields{false};

}  // namespace

// Open MPI makes this level the process': request the current one.
MpiVariables::MpiVariables() noexcept {
  int level = MPI_THREAD_SINGLE, provided = 0;
  open_ = MPI_Query_thread(&level) == MPI_SUCCESS && MPI_T_init_thread(level, &provided) == MPI_SUCCESS;
}

MpiVariables::~MpiVariables() {
  if (open_) MPI_T_finalize();
}

bool MpiVariables::read(const char* name, std::uint64_t* value) const noexcept {
  int index = 0, count = 0, verbosity = 0, binding = 0, scope = 0, name_length = 0, text_length = 0, bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (!open_ || MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return false;
  if (MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, nullptr, nullptr, &text_length, &binding,
                          &scope) != MPI_SUCCESS)
    return false;
  if (binding != MPI_T_BIND_NO_OBJECT || MPI_Type_size(type, &bytes) != MPI_SUCCESS) return false;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return false;
  std::array<std::byte, 8> raw{};
  const bool fits = count == 1 && (bytes == 1 || bytes == 4 || bytes == 8);
  const bool known = fits && MPI_T_cvar_read(handle, raw.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!known) return false;
  std::uint8_t least = 0;
  std::uint32_t narrow = 0;
  std::memcpy(&least, raw.data(), sizeof least);
  std::memcpy(&narrow, raw.data(), sizeof narrow);
  std::memcpy(value, raw.data(), sizeof *value);
  if (bytes == 1) *value = least;
  if (bytes == 4) *value = narrow;
  return true;
}

bool query_mpi_yields() noexcept {
  static const bool once = [] {
    std::uint64_t value = 0;
    return MpiVariables().read("mpi_yield_when_idle", &value) && value != 0;
  }();
  return once;
}

void set_mpi_yields(bool value) noexcept { yields.store(value, std::memory_order_relaxed); }
bool mpi_yields() noexcept { return yields.load(std::memory_order_relaxed); }

}  // namespace stretto::modules
