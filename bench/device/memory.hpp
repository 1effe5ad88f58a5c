// Device memory for benchmarks, by the plugin that the library itself loads: a GPU's or the emulated one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "device/loader.hpp"

namespace stretto::bench {

inline const device::Plugin& plugin() {
  const device::Plugin* p = nullptr;
  if (device::find_plugin(&p) != Status::ok) throw std::runtime_error(message());
  return *p;
}

inline void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", what, plugin().error_text(error)));
}

// Memory of one kind on the current device.
class Memory {
 public:
  Memory(device::MemoryKind kind, std::size_t bytes) : kind_(kind), bytes_(bytes) {
    check(
        plugin().allocate(kind, std::max<std::size_t>(bytes, 256), &data_),
        fmt::format("{} bytes of {} memory", bytes, kind == device::MemoryKind::device ? "device" : "pinned").c_str());
  }
  ~Memory() { static_cast<void>(plugin().release(kind_, data_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  device::MemoryKind kind_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

// A stream, and an event for the host's waits.
class Stream {
 public:
  Stream() {
    check(plugin().create_stream(&stream_), "a stream");
    check(plugin().create_event(&event_), "an event");
  }
  ~Stream() {
    static_cast<void>(plugin().destroy_event(event_));
    static_cast<void>(plugin().destroy_stream(stream_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void* get() const noexcept { return stream_; }

  void copy(void* to, const void* from, std::size_t bytes) const {
    check(plugin().copy(to, from, bytes, stream_), "a copy");
  }
  void finish() const {
    check(plugin().record(event_, stream_), "an event");
    for (int over = 0; over == 0;) check(plugin().is_over(event_, &over), "the stream");
  }

 private:
  void* stream_ = nullptr;
  void* event_ = nullptr;
};

// Copies between host and device memory in pieces, through pinned memory.
class Copier {
 public:
  void to_device(std::byte* to, const void* from, std::size_t bytes) {
    pieces(bytes, [&](std::size_t at, std::size_t n) {
      std::memcpy(pinned_.data(), static_cast<const std::byte*>(from) + at, n);
      stream_.copy(to + at, pinned_.data(), n);
      stream_.finish();
    });
  }
  void to_host(void* to, const std::byte* from, std::size_t bytes) {
    pieces(bytes, [&](std::size_t at, std::size_t n) {
      stream_.copy(pinned_.data(), from + at, n);
      stream_.finish();
      std::memcpy(static_cast<std::byte*>(to) + at, pinned_.data(), n);
    });
  }

 private:
  template <class F>
  void pieces(std::size_t bytes, F f) {
    for (std::size_t at = 0; at < bytes; at += pinned_.bytes()) f(at, std::min(bytes - at, pinned_.bytes()));
  }

  Memory pinned_{device::MemoryKind::pinned, std::size_t{16} << 20U};
  Stream stream_;
};

}  // namespace stretto::bench
