#pragma once

#include <cstdint>
#include <optional>

namespace stretto::modules {

// Settings by the MPI's tool interface. None: the MPI lacks the variable, or has closed its component.
struct MpiVariables {
  std::optional<std::uint64_t> pml_ob1_verbose, btl_tcp_eager_limit, mpi_yield_when_idle, coll_han_priority,
      coll_tuned_priority;
};

// Read once, since Open MPI takes milliseconds to open the interface. Between MPI_Init and MPI_Finalize.
const MpiVariables& mpi_variables() noexcept;

// A test of requests gives the core away if nothing has come.
bool query_mpi_yields() noexcept;

// Open MPI's collectives of several hosts go by one rank of each (coll/han).
bool mpi_has_han() noexcept;

void set_mpi_yields(bool yields) noexcept;
bool mpi_yields() noexcept;

}  // namespace stretto::modules
