#include "mpi/calls/device.hpp"

#include <dlfcn.h>

#include "api/profiling.hpp"

namespace stretto::mpi {
namespace {

// cuPointerGetAttribute, with its C enumerations.
using PointerGetAttribute = int (*)(void* result, int attribute, std::uintptr_t pointer);
constexpr int kMemoryType = 2;         // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned kMemoryOfHost = 1;  // CU_MEMORYTYPE_HOST

// Null unless the process has loaded the driver.
PointerGetAttribute driver() noexcept {
  static const PointerGetAttribute found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<PointerGetAttribute>(dlsym(library, "cuPointerGetAttribute")) : nullptr;
  }();
  return found;
}

// Errors mean host memory.
bool of_device(const void* buffer) noexcept {
  if (!buffer || buffer == MPI_IN_PLACE) return false;
  unsigned type = 0;
  return driver()(&type, kMemoryType, reinterpret_cast<std::uintptr_t>(buffer)) == 0 && type != kMemoryOfHost;
}

}  // namespace

Memory memory_in_reach(const Communicator& c) noexcept {
  if (!driver()) return Memory::host;
  return c.comm->prepared.asks_for_devices() ? Memory::device : Memory::other;
}

Memory memory_of(const WrappedCall& call, const Communicator& c) noexcept {
  if (!driver()) return Memory::host;
  // One known buffer is enough: except at the root, the other may be any address.
  if (c.comm->on_device(call.sendbuf, call.recvbuf)) return Memory::device;
  return of_device(call.sendbuf) || of_device(call.recvbuf) ? Memory::other : Memory::host;
}

bool lie_apart(const Communicator& c, const void* send, const void* recv) noexcept {
  return c.memory == Memory::device && !api::are_together(*c.comm, send, recv);
}

}  // namespace stretto::mpi
