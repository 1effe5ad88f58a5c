#include "node/arena/region.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stretto::node::arena {
namespace {

std::atomic<Region*> only{nullptr};
std::atomic<std::uint64_t> most_unless_told{kUnlimited};

constexpr std::uint64_t keep_idle = std::uint64_t{64} << 20;  // bytes of pages kept for the next allocation

// STRETTO_ARENA_SIZE (bytes; K, M, G and T are understood), or the default.
std::size_t bound() noexcept {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0) space.rlim_cur = RLIM_INFINITY;
  std::uint64_t bytes = default_bound(
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
      space.rlim_cur == RLIM_INFINITY ? kUnlimited : space.rlim_cur, most_unless_told.load(std::memory_order_relaxed));
  if (const char* text = std::getenv("STRETTO_ARENA_SIZE")) {
    char* end = nullptr;
    bytes = std::strtoull(text, &end, 10);
    const char* suffixes = "KMGT";
    if (const char* s = *end != '\0' ? std::strchr(suffixes, *end & ~0x20) : nullptr) bytes <<= 10 * (s - suffixes + 1);
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 46;
  return static_cast<std::size_t>(std::min(bytes, most) / Heap::kUnit * Heap::kUnit);
}

std::uint32_t units_for(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(std::max<std::size_t>((bytes + Heap::kUnit - 1) / Heap::kUnit, 1));
}

}  // namespace

std::uint64_t default_bound(std::uint64_t memory, std::uint64_t address_space, std::uint64_t most) noexcept {
  return std::min({memory / 2, address_space == kUnlimited ? kUnlimited : address_space / 16, most});
}

void Region::at_most(std::uint64_t bytes) noexcept { most_unless_told.store(bytes, std::memory_order_relaxed); }

Region& Region::mine() noexcept {
  // Never destroyed: others free what they allocated until the very end of the process.
  alignas(Region) static std::byte place[sizeof(Region)];
  static Region* const region = [] {
    auto* r = new (place) Region;
    only.store(r, std::memory_order_release);
    return r;
  }();
  return *region;
}

Region* Region::made() noexcept { return only.load(std::memory_order_acquire); }

const Interface& interface_of_mine() noexcept {
  static constexpr Interface functions{
      []() noexcept { return Region::mine().view(); },
      [](std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept {
        return Region::mine().allocate(bytes, alignment, zeroed);
      },
      [](const void* at) noexcept { return Region::made() != nullptr && Region::made()->owns(at); },
      [](void* at) noexcept { Region::mine().release(at); },
      [](const void* at) noexcept { return Region::mine().usable(at); },
      [](void* at, std::size_t bytes) noexcept { return Region::mine().resize(at, bytes); },
      []() noexcept { return Region::mine().statistics(); },
  };
  return functions;
}

Region::Region() noexcept {
  const std::size_t bytes = bound();
  if (bytes == 0) return;
  const int fd = memfd_create("stretto-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *at = MAP_FAILED, *tables = MAP_FAILED;
  // A block that is 64 KiB aligned in the file is so in memory too.
  if (fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    void* room = mmap(nullptr, bytes + Heap::kUnit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) {
      const auto aligned = (reinterpret_cast<std::uintptr_t>(room) + Heap::kUnit - 1) / Heap::kUnit * Heap::kUnit;
      at = mmap(reinterpret_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                fd, 0);
    }
    tables = mmap(nullptr, Heap::tables_for(bytes / Heap::kUnit), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (at == MAP_FAILED || tables == MAP_FAILED) {
    if (fd >= 0) close(fd);
    return;
  }
  fd_ = fd;
  base_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  shared_ = true;
  statistics_.bound = bytes;
  heap_.start(tables, static_cast<std::uint32_t>(bytes / Heap::kUnit));
  pthread_atfork([] { mine().before_fork(); }, [] { mine().after_fork_in_parent(); },
                 [] { mine().after_fork_in_child(); });
}

void* Region::allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept {
  const std::lock_guard lock(mutex_);
  if (!shared_ || bytes > bytes_) {
    ++statistics_.refused;
    return nullptr;
  }
  const std::uint32_t units = units_for(bytes),
                      at = heap_.allocate(units, alignment <= Heap::kUnit ? 1 : units_for(alignment));
  // The region itself is aligned to a unit only.
  if (at == Heap::kNone || reinterpret_cast<std::uintptr_t>(base_ + at * Heap::kUnit) % alignment != 0) {
    if (at != Heap::kNone) heap_.release(at);
    ++statistics_.refused;
    return nullptr;
  }
  const std::uint32_t end = at + units, fresh = std::max(at, std::min(touched_, end));
  if (zeroed != nullptr) *zeroed = std::size_t{end - fresh} * Heap::kUnit;
  touched_ = std::max(touched_, end);
  const std::uint64_t taken = std::uint64_t{units} * Heap::kUnit;
  idle_ -= std::min(idle_, taken);
  ++statistics_.allocations;
  statistics_.used += taken;
  statistics_.peak = std::max(statistics_.peak, statistics_.used);
  return base_ + at * Heap::kUnit;
}

// Gives pages back to the system when many lie idle.
void Region::idle(Heap::Run run, std::uint64_t freed) noexcept {
  statistics_.used -= freed;
  idle_ += freed;
  if (idle_ <= keep_idle || !shared_ || run.length == 0) return;
  const std::uint64_t bytes = std::uint64_t{run.length} * Heap::kUnit;
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(std::uint64_t{run.first} * Heap::kUnit),
            static_cast<off_t>(bytes));
  idle_ -= std::min(idle_, bytes);
}

void Region::release(void* at) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint32_t unit = unit_of(at);
  const std::uint64_t freed = std::uint64_t{heap_.length(unit)} * Heap::kUnit;
  idle(heap_.release(unit), freed);
}

std::size_t Region::usable(const void* at) noexcept {
  const std::lock_guard lock(mutex_);
  return std::size_t{heap_.length(unit_of(at))} * Heap::kUnit;
}

bool Region::resize(void* at, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return false;
  const std::uint32_t unit = unit_of(at), before = heap_.length(unit), units = units_for(bytes);
  if (units <= before) {
    idle(heap_.shrink(unit, units), std::uint64_t{before - units} * Heap::kUnit);
    return true;
  }
  if (!shared_ || !heap_.grow(unit, units)) return false;
  touched_ = std::max(touched_, unit + units);
  statistics_.used += std::uint64_t{units - before} * Heap::kUnit;
  statistics_.peak = std::max(statistics_.peak, statistics_.used);
  return true;
}

Statistics Region::statistics() noexcept {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

// The parent waits in fork() until the child has copied what is allocated: the end of a pipe closes then, or when the child dies.
void Region::before_fork() noexcept {
  mutex_.lock();
  if (!shared_ || statistics_.used == 0 || pipe2(fork_pipe_, O_CLOEXEC) != 0) fork_pipe_[0] = fork_pipe_[1] = -1;
}

void Region::after_fork_in_parent() noexcept {
  if (fork_pipe_[0] >= 0) {
    close(fork_pipe_[1]);
    char byte;
    while (read(fork_pipe_[0], &byte, 1) < 0 && errno == EINTR) {
    }
    close(fork_pipe_[0]);
  }
  mutex_.unlock();
}

void Region::after_fork_in_child() noexcept {
  if (shared_) copy_for_child();
  if (fork_pipe_[0] >= 0) {
    close(fork_pipe_[1]);
    close(fork_pipe_[0]);
  }
  mutex_.unlock();
}

void Region::copy_for_child() noexcept {
  for (std::uint32_t unit = 0; unit < heap_.units(); unit += heap_.length(unit)) {
    std::byte* at = base_ + std::size_t{unit} * Heap::kUnit;
    const std::size_t bytes = std::size_t{heap_.length(unit)} * Heap::kUnit;
    if (!heap_.used(unit)) {
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      continue;
    }
    void* own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) {
      // No room for a copy: at least the child's writes stay its own.
      mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd_,
           static_cast<off_t>(std::uint64_t{unit} * Heap::kUnit));
      continue;
    }
    std::memcpy(own, at, bytes);
    mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
  }
  close(fd_);
  fd_ = -1;
  shared_ = false;
}

}  // namespace stretto::node::arena
