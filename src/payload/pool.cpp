#include "payload/pool.hpp"

#include <bit>
#include <cstdlib>
#include <new>

namespace stretto::payload {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr unsigned kSmallest = 8;

// 2^k times 1, 1.25, 1.5 or 1.75.
std::uint32_t class_of(std::size_t bytes, std::size_t* capacity) noexcept {
  if (bytes <= (std::size_t{1} << kSmallest)) {
    *capacity = std::size_t{1} << kSmallest;
    return 0;
  }
  const unsigned octave = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // 2^octave < bytes <= 2^(octave+1)
  const std::size_t quarter = std::size_t{1} << (octave - 2);
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + quarter - 1) / quarter;
  *capacity = (std::size_t{1} << octave) + steps * quarter;
  return static_cast<std::uint32_t>(4 * (octave - kSmallest) + steps);
}

}  // namespace

Status Pool::take(std::size_t bytes, Buffer* buffer) noexcept {
  if (bytes > (std::size_t{1} << 62)) return fail(Status::out_of_memory, "no memory for {} bytes", bytes);
  std::size_t capacity = 0;
  const std::uint32_t size_class = class_of(bytes, &capacity);
  detail::Store* store = free_[size_class];
  if (store != nullptr) {
    free_[size_class] = store->next;
    idle_ -= store->capacity;
  } else {
    const Status s = make(capacity, size_class, &store);
    if (s != Status::ok) return s;
  }
  store->references = 1;
  *buffer = Buffer(store);
  return Status::ok;
}

Status Pool::make(std::size_t capacity, std::uint32_t size_class, detail::Store** made) noexcept {
  auto* store = new (std::nothrow) detail::Store;
  std::byte* data = nullptr;
  Status s = Status::ok;
  if (memory_ != nullptr)
    s = memory_->allocate(capacity, &data);
  else
    data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
  if (store == nullptr || data == nullptr) {
    delete store;
    if (data != nullptr) release(data, capacity);
    return s != Status::ok ? s : fail(Status::out_of_memory, "no memory for {} bytes", capacity);
  }
  *store = {this, nullptr, data, capacity, 0, size_class};
  *made = store;
  return Status::ok;
}

void Pool::release(std::byte* data, std::size_t capacity) noexcept {
  if (memory_ != nullptr)
    memory_->release(data, capacity);
  else
    std::free(data);
}

void Pool::give(detail::Store* store) noexcept {
  Pool* const pool = store->pool;
  if (pool == nullptr) {
    delete store;
    return;
  }
  store->next = pool->free_[store->size_class];
  pool->free_[store->size_class] = store;
  pool->idle_ += store->capacity;
}

Status Buffer::of(std::byte* data, std::size_t bytes, Buffer* buffer) noexcept {
  auto* const store = new (std::nothrow) detail::Store;
  if (store == nullptr) return fail(Status::out_of_memory, std::string_view("no memory to refer to memory"));
  store->data = data;
  store->capacity = store->content = bytes;
  store->references = 1;
  *buffer = Buffer(store);
  return Status::ok;
}

void Pool::trim() noexcept {
  for (detail::Store*& list : free_) {
    while (list != nullptr) {
      detail::Store* store = std::exchange(list, list->next);
      release(store->data, store->capacity);
      delete store;
    }
  }
  idle_ = 0;
}

}  // namespace stretto::payload
