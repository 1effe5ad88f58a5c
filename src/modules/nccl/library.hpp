#pragma once

#include <string>

#include "base/status.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

struct Library : Functions {
  int version = 0;  // 22809 is 2.28.9
  std::string name;
  std::string where;
};

// The process' copy, else STRETTO_NCCL's file, else libnccl.so.2. unsupported: missing, incomplete, older than 2.14, or
// not NCCL 2.
Status find_library(const Library** library) noexcept;

}  // namespace stretto::modules::nccl
