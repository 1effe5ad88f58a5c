#include "modules/mpi/settings/variables.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace stretto::modules {
namespace {

std::atomic<bool> yields{false};

// Precondition: the interface is open.
std::optional<std::uint64_t> read(const char* name) noexcept {
  int index = 0, count = 0, verbosity = 0, binding = 0, scope = 0, name_length = 0, text_length = 0, bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return {};
  if (MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, nullptr, nullptr, &text_length, &binding,
                          &scope) != MPI_SUCCESS)
    return {};
  if (binding != MPI_T_BIND_NO_OBJECT || MPI_Type_size(type, &bytes) != MPI_SUCCESS) return {};
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return {};
  std::array<std::byte, 8> raw{};
  const bool fits = count == 1 && (bytes == 1 || bytes == 4 || bytes == 8);
  const bool known = fits && MPI_T_cvar_read(handle, raw.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!known) return {};
  std::uint8_t least = 0;
  std::uint32_t narrow = 0;
  std::uint64_t value = 0;
  std::memcpy(&least, raw.data(), sizeof least);
  std::memcpy(&narrow, raw.data(), sizeof narrow);
  std::memcpy(&value, raw.data(), sizeof value);
  if (bytes == 1) value = least;
  if (bytes == 4) value = narrow;
  return value;
}

MpiVariables read_all() noexcept {
  // Open MPI makes this level the process': request the current level.
  int level = MPI_THREAD_SINGLE, provided = 0;
  if (MPI_Query_thread(&level) != MPI_SUCCESS || MPI_T_init_thread(level, &provided) != MPI_SUCCESS) return {};
  const MpiVariables all{read("pml_ob1_verbose"), read("btl_tcp_eager_limit"), read("mpi_yield_when_idle"),
                         read("coll_han_priority"), read("coll_tuned_priority")};
  MPI_T_finalize();
  return all;
}

}  // namespace

const MpiVariables& mpi_variables() noexcept {
  static const MpiVariables once = read_all();
  return once;
}

bool query_mpi_yields() noexcept { return mpi_variables().mpi_yield_when_idle.value_or(0) != 0; }

bool mpi_has_han() noexcept {
  const MpiVariables& v = mpi_variables();
  // Negative: the component withdraws.
  const auto priority = [](std::optional<std::uint64_t> of) { return static_cast<std::int32_t>(of.value_or(0)); };
  return priority(v.coll_han_priority) > std::max(priority(v.coll_tuned_priority), 0);
}

void set_mpi_yields(bool value) noexcept { yields.store(value, std::memory_order_relaxed); }
bool mpi_yields() noexcept { return yields.load(std::memory_order_relaxed); }

}  // namespace stretto::modules
