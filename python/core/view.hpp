// The borrowed memory of a Python object with the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace stretto::python {

class View {
 public:
  View() noexcept = default;

  // Throws Python's BufferError for memory that is not contiguous or, for writing, is read-only.
  static View read(nanobind::handle object) { return View(object, PyBUF_SIMPLE); }
  static View write(nanobind::handle object) { return View(object, PyBUF_SIMPLE | PyBUF_WRITABLE); }

  // Memory at an address, which the caller keeps alive.
  static View at(void* data, std::size_t bytes) noexcept {
    View view;
    view.data_ = data;
    view.bytes_ = bytes;
    return view;
  }

  void* data() const noexcept { return buffer_ ? buffer_->buf : data_; }
  std::size_t bytes() const noexcept { return buffer_ ? static_cast<std::size_t>(buffer_->len) : bytes_; }

  bool overlaps(const View& other) const noexcept {
    const auto *const a = static_cast<const char*>(data()), *const b = static_cast<const char*>(other.data());
    return bytes() > 0 && other.bytes() > 0 && std::less<>()(a, b + other.bytes()) && std::less<>()(b, a + bytes());
  }

  // Leaks the buffer: the library may still access it.
  void abandon() noexcept { static_cast<void>(buffer_.release()); }

 private:
  struct Release {
    void operator()(Py_buffer* buffer) const noexcept {
      PyBuffer_Release(buffer);
      delete buffer;
    }
  };

  View(nanobind::handle object, int flags) {
    auto buffer = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), buffer.get(), flags) != 0) throw nanobind::python_error();
    buffer_.reset(buffer.release());
  }

  void* data_ = nullptr;  // for a view without a buffer
  std::size_t bytes_ = 0;
  std::unique_ptr<Py_buffer, Release> buffer_;  // at a fixed address, which its exporter may know
};

}  // namespace stretto::python
