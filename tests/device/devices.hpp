// The emulated device in tests: memory of it, what it is asked, and ranks as threads that have one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "device/loader.hpp"
#include "emulated.hpp"

namespace stretto::tests {

inline const device::Plugin& plugin() {
  const device::Plugin* p = nullptr;
  if (device::find_plugin(&p) != Status::ok) throw std::runtime_error(message());
  return *p;
}

inline const device::Emulation& emulation() {
  static const device::Emulation* const found = [] {
    static_cast<void>(plugin());
    void* library = dlopen(std::getenv("STRETTO_CUDA_PLUGIN"), RTLD_NOW | RTLD_NOLOAD);
    const auto table = reinterpret_cast<const device::Emulation* (*)()>(dlsym(library, device::kEmulationSymbol));
    return table();
  }();
  return *found;
}

// A vector in the memory of a device.
template <class T>
class DeviceVector {
 public:
  DeviceVector(int device, std::size_t count) : device_(device), count_(count) {
    use();
    if (plugin().allocate(device::MemoryKind::device, count * sizeof(T), &data_) != 0)
      throw std::runtime_error("no memory of the device");
  }
  DeviceVector(int device, const std::vector<T>& values, void* stream = nullptr) : DeviceVector(device, values.size()) {
    write(values, stream);
  }
  ~DeviceVector() { static_cast<void>(plugin().release(device::MemoryKind::device, data_)); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return count_; }
  void write(const std::vector<T>& values, void* stream = nullptr) const {
    use();
    emulation().write(data_, values.data(), values.size() * sizeof(T), stream);
  }
  // Enqueued alone: the copy may come late.
  void write_late(const std::vector<T>& values, void* stream) const {
    use();
    emulation().write_late(data_, values.data(), values.size() * sizeof(T), stream);
  }
  std::vector<T> read(void* stream = nullptr) const {
    use();
    std::vector<T> values(count_);
    emulation().read(values.data(), data_, count_ * sizeof(T), stream);
    return values;
  }

 private:
  void use() const { static_cast<void>(plugin().use_device(device_)); }

  int device_;
  std::size_t count_;
  void* data_ = nullptr;
};

inline std::unique_ptr<device::Device> open_device(int number) {
  std::unique_ptr<device::Device> d;
  EXPECT_EQ(device::Device::open(plugin(), number, &d), Status::ok) << message();
  return d;
}

}  // namespace stretto::tests
