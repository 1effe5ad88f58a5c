#include "node/memory/segment.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/guarded.hpp"
#include "node/arena/anonymous.hpp"

namespace stretto::node {
namespace {

struct Identity {
  Token token{};
  unsigned generation = 0;
  bool drawn = false;
};

std::shared_ptr<Mapping> map_shared(int fd, std::size_t bytes) noexcept {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : Mapping::own(at, bytes);
}

Status refuse(std::size_t bytes, int error) noexcept {
  if (error == EFBIG)
    return fail(Status::out_of_memory,
                "no shared memory of {} bytes: files of this process have {} at most (RLIMIT_FSIZE)", bytes,
                arena::longest_file());
  return fail(Status::out_of_memory, "no shared memory of {} bytes: {}", bytes, std::strerror(error));
}

}  // namespace

Mapping::Mapping(void* at, std::size_t bytes) noexcept
    : at_(static_cast<std::byte*>(at)), bytes_(bytes), generation_(fork_generation()) {
  madvise(at, bytes, MADV_DONTFORK);
}

Mapping::~Mapping() {
  // A forked child may have other memory at its address.
  if (generation_ == fork_generation()) munmap(at_, bytes_);
}

std::shared_ptr<Mapping> Mapping::own(void* at, std::size_t bytes) noexcept {
  auto made = value_or<std::shared_ptr<Mapping>>(nullptr, [&] { return std::make_shared<Mapping>(at, bytes); });
  if (!made) munmap(at, bytes);
  return made;
}

Descriptor make_memory(const char* name, std::size_t bytes) noexcept {
  return Descriptor(arena::make_anonymous(name, bytes));
}

Status process_token(Token* token) noexcept {
  static Identity identity;
  static std::atomic<unsigned> drawing{0};  // generation + 1 of the holder; a parent's lock does not count in a child
  const unsigned now = fork_generation();
  for (unsigned held = 0; held == now + 1 || !drawing.compare_exchange_weak(held, now + 1, std::memory_order_acquire);
       held = drawing.load(std::memory_order_relaxed))
    sched_yield();
  Status s = Status::ok;
  if (!identity.drawn || identity.generation != now) {
    s = random_token(&identity.token);
    identity.generation = now;
    identity.drawn = s == Status::ok;
  }
  *token = identity.token;
  drawing.store(0, std::memory_order_release);
  return s;
}

Status SegmentMaker::map_memory(int fd) noexcept {
  segment_ = map_shared(fd, bytes_);
  if (segment_) return Status::ok;
  return fail(Status::out_of_memory, "cannot map {} shared bytes: {}", bytes_, std::strerror(errno));
}

Status SegmentMaker::offer(const Exchange& exchange, std::size_t bytes, SegmentOffer* mine) noexcept {
  bytes_ = bytes;
  if (const Status s = process_token(&process_); s != Status::ok) return s;
  mine->process = process_;
  if (exchange.rank() != 0) return Status::ok;
  if (exchange.size() > 1) {
    memory_ = make_memory("stretto-node", bytes);
    if (!memory_) mine->error = errno;
    if (const Status s = make_offer(memory_.get(), &mine->memory); s != Status::ok) return s;
  }
  mine->mapping = reinterpret_cast<std::uintptr_t>(&segment_);
  return map_memory(memory_.get());
}

Status SegmentMaker::map(Exchange& exchange, SegmentOffer first, Passing passing,
                         std::shared_ptr<Mapping>* segment) noexcept {
  // Threads of rank 0's process share its mapping, which stays valid until all have copied the pointer.
  const bool here = first.process == process_;
  if (exchange.rank() != 0 && here) segment_ = *reinterpret_cast<const std::shared_ptr<Mapping>*>(first.mapping);
  std::span<const Offer> offers{&first.memory, here ? 0u : 1u};
  std::array<Descriptor, 1> memory;
  const bool asks = !open_offers(passing, exchange.rank(), offers, memory);
  const auto mapped = [&] {
    if (segment_) return Status::ok;
    return first.memory.fd < 0 ? refuse(bytes_, first.error) : map_memory(memory.front().get());
  };
  std::span<const char> all_ask;
  if (const Status s = exchange.step(asks ? Status::ok : mapped(), static_cast<char>(asks), &all_ask); s != Status::ok)
    return s;
  if (std::count(all_ask.begin(), all_ask.end(), 0) < std::ssize(all_ask)) {
    Status s = ask_for_offers(exchange, exchange.rank() == 0 ? first.memory : Offer(), offers, memory);
    if (s == Status::ok) s = mapped();
    if (s = agree(exchange, s); s != Status::ok) return s;
  }
  *segment = std::move(segment_);
  return Status::ok;
}

}  // namespace stretto::node
