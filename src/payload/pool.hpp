#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.hpp"

namespace stretto::payload {

class Pool;

class Memory {
 public:
  virtual ~Memory() = default;
  virtual Status allocate(std::size_t bytes, std::byte** data) noexcept = 0;
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;
};

namespace detail {
struct Store {
  Pool* pool = nullptr;  // null: foreign
  Store* next = nullptr;
  std::byte* data = nullptr;
  std::size_t capacity = 0;
  std::uint32_t references = 0;
  std::uint32_t size_class = 0;
  std::size_t content = 0;
};
}  // namespace detail

// Counted reference, not shared between threads. The last returns the memory to its pool.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(const Buffer& other) noexcept : store_(other.store_) {
    if (store_ != nullptr) ++store_->references;
  }
  Buffer(Buffer&& other) noexcept : store_(std::exchange(other.store_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(store_, other.store_);
    return *this;
  }
  ~Buffer();

  // Foreign memory, which outlives the references.
  static Status of(std::byte* data, std::size_t bytes, Buffer* buffer) noexcept;

  explicit operator bool() const noexcept { return store_ != nullptr; }
  std::byte* data() const noexcept { return store_ != nullptr ? store_->data : nullptr; }
  std::size_t capacity() const noexcept { return store_ != nullptr ? store_->capacity : 0; }

  // Length of a stream that a device writes there, as its owner knows (Executor).
  static constexpr std::size_t kUnknown = ~std::size_t{0};
  std::size_t content() const noexcept { return store_->content; }
  void set_content(std::size_t bytes) const noexcept { store_->content = bytes; }

 private:
  friend class Pool;
  explicit Buffer(detail::Store* store) noexcept : store_(store) {}
  detail::Store* store_ = nullptr;
};

// Memory by size class (four per octave), 64-byte aligned, most recently used first; in a steady state nothing is
// allocated. The pool outlives its buffers.
class Pool {
 public:
  explicit Pool(Memory* memory = nullptr) noexcept : memory_(memory) {}  // null: the heap
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Status take(std::size_t bytes, Buffer* buffer) noexcept;

  std::size_t idle_bytes() const noexcept { return idle_; }
  void trim() noexcept;

 private:
  friend class Buffer;
  static void give(detail::Store* store) noexcept;
  Status make(std::size_t capacity, std::uint32_t size_class, detail::Store** made) noexcept;
  void release(std::byte* data, std::size_t capacity) noexcept;

  Memory* memory_;
  std::array<detail::Store*, 256> free_{};
  std::size_t idle_ = 0;
};

inline Buffer::~Buffer() {
  if (store_ != nullptr && --store_->references == 0) Pool::give(store_);
}

}  // namespace stretto::payload
