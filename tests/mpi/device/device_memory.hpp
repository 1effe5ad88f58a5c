// Shared by programs on memory of emulated devices: vectors there, and values of each rank.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device/plugin.hpp"

namespace mpi_test {

using namespace stretto::device;

inline int rank = 0, ranks = 1;

inline void find_ranks() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

[[noreturn]] inline void stop(const char* why) {
  std::fprintf(stderr, "rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline void check(int error) {
  if (error != 0) stop("the plugin failed");
}

// That of the library.
inline const Plugin& plugin() {
  static const Plugin* const found = [] {
    void* library = dlopen(std::getenv("STRETTO_CUDA_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    const auto table = library ? reinterpret_cast<const Plugin* (*)()>(dlsym(library, kPluginSymbol)) : nullptr;
    return table ? table() : nullptr;
  }();
  if (!found) stop("no plugin");
  return *found;
}

inline bool is_on_device(const void* p) {
  Location at{MemoryKind::host, 0};
  return p && plugin().locate(p, &at) == 0 && at.kind == MemoryKind::device;
}

// Between the memory of a device and that of the host, through pinned memory.
class Copies {
 public:
  explicit Copies(std::size_t bytes) : bytes_(bytes) {
    check(plugin().allocate(MemoryKind::pinned, bytes, &pinned_));
    check(plugin().create_event(&event_));
  }
  ~Copies() {
    check(plugin().destroy_event(event_));
    check(plugin().release(MemoryKind::pinned, pinned_));
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void to_device(void* to, const void* from) {
    std::memcpy(pinned_, from, bytes_);
    copy(to, pinned_);
  }
  void to_host(void* to, const void* from) {
    copy(pinned_, from);
    std::memcpy(to, pinned_, bytes_);
  }

 private:
  void copy(void* to, const void* from) {
    check(plugin().copy(to, from, bytes_, nullptr));
    check(plugin().record(event_, nullptr));
    for (int over = 0; !over;) check(plugin().is_over(event_, &over));
  }

  const std::size_t bytes_;
  void *pinned_ = nullptr, *event_ = nullptr;
};

// A vector in host or device memory.
class Vector {
 public:
  Vector(bool device, std::size_t count) : device_(device), host_(count) {
    if (device_) check(plugin().allocate(MemoryKind::device, bytes(), &data_));
  }
  Vector(bool device, const std::vector<float>& values) : Vector(device, values.size()) { write(values); }
  ~Vector() {
    if (device_) check(plugin().release(MemoryKind::device, data_));
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  float* data() { return device_ ? static_cast<float*>(data_) : host_.data(); }
  void write(const std::vector<float>& values) {
    host_ = values;
    if (device_) Copies(bytes()).to_device(data_, values.data());
  }
  const std::vector<float>& read() {
    if (device_) Copies(bytes()).to_host(host_.data(), data_);
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(float); }

  const bool device_;
  std::vector<float> host_;
  void* data_ = nullptr;
};

inline float value(int of, std::size_t i) { return std::sin(0.37f * static_cast<float>(i) + static_cast<float>(of)); }

inline std::vector<float> values(int of, std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value(of, i);
  return all;
}

}  // namespace mpi_test
