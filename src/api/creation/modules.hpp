#pragma once

#include <string>

#include "backend/module.hpp"
#include "base/status.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

// Loads libstretto_NAME.so for good, from STRETTO_MODULES, or from stretto/ beside this library. unsupported: there is
// no module of this version.
Status find_module(const std::string& name, const backend::Module** module) noexcept;

struct LoadedMpi {
  std::string version;                   // the first line of MPI_Get_library_version
  stretto_mpi abi = STRETTO_MPI_LOADED;  // its binary interface; LOADED: none that stretto knows
};

// Lets modules use the functions of that MPI. unsupported: no MPI is loaded.
Status find_loaded_mpi(LoadedMpi* mpi) noexcept;

// As "openmpi".
const char* module_of(stretto_mpi abi) noexcept;

}  // namespace stretto::api
