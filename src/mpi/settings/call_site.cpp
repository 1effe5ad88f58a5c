#include "mpi/settings/call_site.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace stretto::mpi {

std::string name_of_site(const void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return "?";
  const std::string_view file = info.dli_fname;
  const std::string_view object = file.substr(file.rfind('/') + 1);
  if (info.dli_sname) return fmt::format("{}:{}", object, info.dli_sname);
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return fmt::format("{}:+0x{:x}", object, offset);
}

}  // namespace stretto::mpi
