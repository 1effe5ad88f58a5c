// NCCL's functions, from the library that is found at run time: nothing here is linked to it.
#pragma once

#include <string>

#include "base/status.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

struct Library : Functions {
  int version = 0;    // 22809 is 2.28.9
  std::string name;   // "NCCL 2.28.9"
  std::string where;  // the file
};

// Finds NCCL: the library that the process has already, else the file STRETTO_NCCL, else libnccl.so.2 of the system. It stays loaded.
// unsupported: there is none, it lacks a function, or it is older than 2.14 or none of NCCL 2.
Status find_library(const Library** library) noexcept;

}  // namespace stretto::modules::nccl
