// Counts a process's calls of its devices' driver. The plugin libstretto_cuda_counting.so counts them, and forwards
// every call to the plugin $STRETTO_COUNTED_PLUGIN.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace stretto::bench {

// `vain`: a query for an event that was not over.
enum class DriverCall : std::uint8_t { kernel, clear, copy, record, wait, query, vain, allocate };
inline constexpr std::size_t kDriverCalls = 8;
inline constexpr std::array<const char*, kDriverCalls> kDriverCallNames{"kernel", "clear", "copy", "record",
                                                                        "wait",   "query", "vain", "allocate"};

// Sums over all threads. A launch of the codec counts as a kernel, a clearing, and a copy of its result if it has one;
// its seconds count for the kernel.
struct DriverCalls {
  std::array<std::uint64_t, kDriverCalls> number{};
  std::array<double, kDriverCalls> seconds{};

  std::uint64_t of(DriverCall call) const noexcept { return number[static_cast<std::size_t>(call)]; }
};

inline constexpr const char* kDriverCallsSymbol = "stretto_driver_calls";

// Null if the process's plugin does not count.
using ReadDriverCalls = void (*)(DriverCalls*);
inline ReadDriverCalls find_driver_calls() noexcept {
  const char* const name = std::getenv("STRETTO_CUDA_PLUGIN");
  void* const library = name != nullptr ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return library != nullptr ? reinterpret_cast<ReadDriverCalls>(dlsym(library, kDriverCallsSymbol)) : nullptr;
}

}  // namespace stretto::bench
