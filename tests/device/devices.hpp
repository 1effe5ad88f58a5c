// A device in tests, emulated or a GPU: its memory, and access to the emulation.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "device/device.hpp"
#include "device/loader.hpp"
#include "emulated/emulated.hpp"

namespace stretto::tests {

inline const device::Plugin& plugin() {
  const device::Plugin* p = nullptr;
  if (device::find_plugin(&p) != Status::ok) throw std::runtime_error(message());
  return *p;
}

// Null: the devices are GPUs.
inline const device::Emulation* find_emulation() {
  static const device::Emulation* const found = []() -> const device::Emulation* {
    static_cast<void>(plugin());
    const char* name = std::getenv("STRETTO_CUDA_PLUGIN");
    void* library = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    void* symbol = library ? dlsym(library, device::kEmulationSymbol) : nullptr;
    return symbol ? reinterpret_cast<const device::Emulation* (*)()>(symbol)() : nullptr;
  }();
  return found;
}

inline const device::Emulation& emulation() { return *find_emulation(); }

// begin_order() starts a new order of emulated streams. expect_order() expects no races, and all memory returned.
inline void begin_order(std::uint64_t seed) {
  if (find_emulation()) emulation().reset(seed);
}
inline void expect_order() {
  if (!find_emulation()) return;
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
  EXPECT_EQ(emulation().held(false), 0u);
  EXPECT_EQ(emulation().held(true), 0u);
}

// Numbers of ranks up to the emulated devices; all of them where the environment has WIDE, as tests of the label `wide`
// have.
inline std::vector<int> ranks_to_nine() {
  if (std::getenv("WIDE")) return {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return {1, 2, 3, 5, 8};
}

// Ranks have their own devices if there are enough.
inline int device_of(int rank) {
  int devices = 1;
  static_cast<void>(plugin().device_count(&devices));
  return rank % devices;
}

inline void check(int error) {
  if (error != 0) throw std::runtime_error(plugin().error_text(error));
}

// A vector in device memory, and pinned memory of equal length for copies.
template <class T>
class DeviceVector {
 public:
  DeviceVector(int device, std::size_t count) : device_(device), count_(count) {
    use();
    check(plugin().allocate(device::MemoryKind::device, bytes(), &data_));
    check(plugin().allocate(device::MemoryKind::pinned, bytes(), &pinned_));
    check(plugin().create_event(&event_));
  }
  DeviceVector(int device, const std::vector<T>& values, void* stream = nullptr) : DeviceVector(device, values.size()) {
    write(values, stream);
  }
  ~DeviceVector() {
    use();
    static_cast<void>(plugin().release(device::MemoryKind::device, data_));
    static_cast<void>(plugin().release(device::MemoryKind::pinned, pinned_));
    static_cast<void>(plugin().destroy_event(event_));
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return count_; }

  // The copy is enqueued and may be late. The host waits before the next copy.
  void write_late(const std::vector<T>& values, void* stream) const {
    use();
    std::memcpy(pinned_, values.data(), bytes());
    check(plugin().copy(data_, pinned_, bytes(), stream));
    check(plugin().record(event_, stream));
  }
  void write(const std::vector<T>& values, void* stream = nullptr) const {
    write_late(values, stream);
    wait();
  }
  std::vector<T> read(void* stream = nullptr) const {
    use();
    check(plugin().copy(pinned_, data_, bytes(), stream));
    check(plugin().record(event_, stream));
    wait();
    const T* const values = static_cast<const T*>(pinned_);
    return std::vector<T>(values, values + count_);
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }
  void use() const { check(plugin().use_device(device_)); }
  void wait() const {
    for (int over = 0; over == 0;) check(plugin().is_over(event_, &over));
  }

  int device_;
  std::size_t count_;
  void* data_ = nullptr;
  void* pinned_ = nullptr;
  void* event_ = nullptr;
};

inline std::unique_ptr<device::Device> open_device(int number) {
  std::unique_ptr<device::Device> d;
  EXPECT_EQ(device::Device::open(plugin(), number, &d), Status::ok) << message();
  return d;
}

}  // namespace stretto::tests
