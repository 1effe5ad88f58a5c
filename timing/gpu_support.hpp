// Shared by programs on a GPU: fatal errors, and facts about the device.
#pragma once

#include <cuda_runtime.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "stretto/stretto_cuda.h"

namespace stretto::codec {

[[noreturn]] inline void stop(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}
inline void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) stop(std::string(what) + ": " + cudaGetErrorString(e));
}
inline void must(stretto_status s, const std::string& what) {
  if (s != STRETTO_OK) stop(what + ": " + stretto_status_name(s) + ", " + stretto_message());
}

// One row of JSON; without a field that the runtime does not answer for.
inline std::string device_properties() {
  cudaDeviceProp p;
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return "{}";
  std::string row = "{\"device\": \"" + std::string(p.name) + "\", \"capability\": \"" + std::to_string(p.major) + "." +
                    std::to_string(p.minor) + "\", \"memory\": " + std::to_string(p.totalGlobalMem) +
                    ", \"cache\": " + std::to_string(p.l2CacheSize) +
                    ", \"shared_of_multiprocessor\": " + std::to_string(p.sharedMemPerMultiprocessor) +
                    ", \"registers_of_multiprocessor\": " + std::to_string(p.regsPerMultiprocessor) +
                    ", \"ecc\": " + std::to_string(p.ECCEnabled);
  const auto add = [&](const char* name, auto ask) {
    int value = 0;
    if (ask(&value) == cudaSuccess) row += ", \"" + std::string(name) + "\": " + std::to_string(value);
  };
  add("multiprocessors", [](int* v) { return cudaDeviceGetAttribute(v, cudaDevAttrMultiProcessorCount, 0); });
  add("clock_khz", [](int* v) { return cudaDeviceGetAttribute(v, cudaDevAttrClockRate, 0); });
  add("memory_clock_khz", [](int* v) { return cudaDeviceGetAttribute(v, cudaDevAttrMemoryClockRate, 0); });
  add("memory_bus_bits", [](int* v) { return cudaDeviceGetAttribute(v, cudaDevAttrGlobalMemoryBusWidth, 0); });
  add("driver", [](int* v) { return cudaDriverGetVersion(v); });
  add("runtime", [](int* v) { return cudaRuntimeGetVersion(v); });
  return row + "}";
}

}  // namespace stretto::codec
