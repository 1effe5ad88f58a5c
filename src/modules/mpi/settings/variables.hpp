// Settings that the MPI tells by its tool interface.
#pragma once

#include <cstdint>
#include <optional>

namespace stretto::modules {

// Integers and booleans. None: the MPI lacks the variable, or has closed its component.
struct MpiVariables {
  std::optional<std::uint64_t> pml_ob1_verbose, btl_tcp_eager_limit, mpi_yield_when_idle;
};

// Read once, since Open MPI takes milliseconds to open the interface. Between MPI_Init and MPI_Finalize.
const MpiVariables& mpi_variables() noexcept;

// A test of requests gives the core away if nothing has come, as Open MPI's does where ranks share cores.
bool query_mpi_yields() noexcept;

// The carriers of this process ask mpi_yields(), which is false before set_mpi_yields().
void set_mpi_yields(bool yields) noexcept;
bool mpi_yields() noexcept;

}  // namespace stretto::modules
