#include "mpi/calls/device.hpp"

#include <dlfcn.h>

namespace stretto::mpi {
namespace {

// cuPointerGetAttribute of the driver's interface; its result and attribute are enumerations of C.
using PointerGetAttribute = int (*)(void* result, int attribute, std::uintptr_t pointer);
constexpr int memory_type = 2;          // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned memory_of_host = 1;  // CU_MEMORYTYPE_HOST

// Null without the driver. Nothing is loaded that is not there already; what is found stays loaded.
PointerGetAttribute driver() noexcept {
  static const PointerGetAttribute found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<PointerGetAttribute>(dlsym(library, "cuPointerGetAttribute")) : nullptr;
  }();
  return found;
}

// An error (the driver has not been started, or does not know the address) means memory of the host.
bool of_device(const void* buffer) noexcept {
  if (!buffer || buffer == MPI_IN_PLACE) return false;
  unsigned type = 0;
  return driver()(&type, memory_type, reinterpret_cast<std::uintptr_t>(buffer)) == 0 && type != memory_of_host;
}

}  // namespace

bool has_driver() noexcept { return driver() != nullptr; }

bool in_device_memory(const WrappedCall& call) noexcept {
  return has_driver() && (of_device(call.sendbuf) || of_device(call.recvbuf));
}

}  // namespace stretto::mpi
