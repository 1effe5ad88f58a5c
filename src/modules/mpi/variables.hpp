// Settings that the MPI tells by its tool interface.
#pragma once

#include <cstdint>

namespace stretto::modules {

// Between MPI_Init and MPI_Finalize.
class MpiVariables {
 public:
  MpiVariables() noexcept;
  ~MpiVariables();
  MpiVariables(const MpiVariables&) = delete;
  MpiVariables& operator=(const MpiVariables&) = delete;

  // An integer or boolean. False: the MPI lacks it, or has closed its component.
  bool read(const char* name, std::uint64_t* value) const noexcept;

 private:
  bool open_ = false;
};

// A test of requests gives the core away if nothing has come, as Open MPI's does where ranks share cores.
bool query_mpi_yields() noexcept;

// The carriers of this process ask mpi_yields(), which is false before set_mpi_yields().
void set_mpi_yields(bool yields) noexcept;
bool mpi_yields() noexcept;

}  // namespace stretto::modules
