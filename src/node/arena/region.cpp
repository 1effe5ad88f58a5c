#include "node/arena/region.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>

namespace stretto::node::arena {
namespace {

std::atomic<Region*> only{nullptr};
std::atomic<std::uint64_t> most_unless_told{kUnlimited};

constexpr std::uint64_t kKeepIdle = std::uint64_t{64} << 20;  // of free pages kept for the next allocations
constexpr std::size_t kOpenStep = std::size_t{4} << 20;

void* reserve(std::size_t bytes) noexcept {
  return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
  // Other statics free their allocations until the process' very end.
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
  static constexpr Interface kFunctions{
      []() noexcept { return Region::mine().view(); },
      []() noexcept { return Region::mine().file(); },
      []() noexcept { return Region::mine().remark(); },
      [](std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept {
        return Region::mine().allocate(bytes, alignment, zeroed);
      },
      [](const void* at) noexcept { return Region::made() != nullptr && Region::made()->owns(at); },
      [](void* at) noexcept { Region::mine().release(at); },
      [](const void* at) noexcept { return Region::mine().usable(at); },
      [](void* at, std::size_t bytes) noexcept { return Region::mine().resize(at, bytes); },
      []() noexcept { return Region::mine().statistics(); },
  };
  return kFunctions;
}

// STRETTO_ARENA_SIZE or the default. 0, with a remark: no arena.
std::size_t Region::bound() noexcept {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0) space.rlim_cur = RLIM_INFINITY;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t by_default = default_bound(static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page,
                                                 space.rlim_cur == RLIM_INFINITY ? kUnlimited : space.rlim_cur,
                                                 most_unless_told.load(std::memory_order_relaxed));
  const std::uint64_t wanted = bytes_from("STRETTO_ARENA_SIZE", by_default, &setting_error_);
  constexpr std::uint64_t most = std::uint64_t{1} << 46;
  const std::uint64_t longest = longest_file(), bytes = std::min({wanted, most, longest}) / Heap::kUnit * Heap::kUnit;
  if (bytes > 0) return static_cast<std::size_t>(bytes);
  if (wanted < Heap::kUnit)
    std::snprintf(none_.text, sizeof none_.text, "no arena, as STRETTO_ARENA_SIZE says");
  else
    std::snprintf(none_.text, sizeof none_.text, "files of %llu bytes at most (RLIMIT_FSIZE): no arena",
                  static_cast<unsigned long long>(longest));
  return 0;
}

Region::Region() noexcept {
  const std::size_t bytes = bound();
  if (bytes == 0) return;
  if (const char* failed = make(bytes)) {
    std::snprintf(none_.text, sizeof none_.text, "no arena of %zu bytes: %s failed (errno %d)", bytes, failed, errno);
    return;
  }
  pthread_atfork([] { mine().before_fork(); }, [] { mine().after_fork_in_parent(); },
                 [] { mine().after_fork_in_child(); });
}

// Null, or the function that failed. Mappings start inaccessible: mlockall() would populate every page.
const char* Region::make(std::size_t bytes) noexcept {
  const std::size_t room_bytes = bytes + Heap::kUnit, table_bytes = Heap::tables_for(bytes / Heap::kUnit);
  void *const room = reserve(room_bytes), *const tables = reserve(table_bytes);
  // Equal alignment in the file and in memory, up to 64 KiB.
  const auto aligned = (reinterpret_cast<std::uintptr_t>(room) + Heap::kUnit - 1) / Heap::kUnit * Heap::kUnit;
  const char* failed = nullptr;
  if (room == MAP_FAILED || tables == MAP_FAILED) {
    failed = "mmap";
  } else {
    locks_ = madvise(room, Heap::kUnit, MADV_DONTNEED) != 0;  // the kernel refuses it for locked memory
    munlock(tables, table_bytes);
    if (mprotect(tables, table_bytes, PROT_READ | PROT_WRITE) != 0) failed = "mprotect";
    if (failed == nullptr && !identify(fd_ = make_anonymous("stretto-arena", bytes), &which_)) failed = "memfd_create";
    if (failed == nullptr && mmap(reinterpret_cast<void*>(aligned), bytes, PROT_NONE,
                                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_, 0) == MAP_FAILED)
      failed = "mmap of the file";
  }
  if (failed != nullptr) {
    const int error = errno;
    if (room != MAP_FAILED) munmap(room, room_bytes);
    if (tables != MAP_FAILED) munmap(tables, table_bytes);
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    errno = error;
    return failed;
  }
  munlock(room, room_bytes);
  base_ = reinterpret_cast<std::byte*>(aligned);
  bytes_ = bytes;
  shared_ = true;
  statistics_.bound = bytes;
  heap_.start(tables, static_cast<std::uint32_t>(bytes / Heap::kUnit));
  return nullptr;
}

bool Region::open(std::size_t end) noexcept {
  if (end <= opened_) return true;
  const std::size_t until = std::min(bytes_, (end + kOpenStep - 1) / kOpenStep * kOpenStep);
  if (mprotect(base_ + opened_, until - opened_, PROT_READ | PROT_WRITE) != 0) return false;
  // The program locks its mappings; lock each page on its first use.
  if (locks_) mlock2(base_ + opened_, until - opened_, MLOCK_ONFAULT);
  opened_ = until;
  return true;
}

bool Region::still_ours() const noexcept {
  Identity found;
  return identify(fd_, &found) && found == which_;
}

File Region::file() noexcept {
  const std::lock_guard lock(mutex_);
  if (!shared_) return {};
  // Check the duplicate, not the original: another thread may close the original meanwhile.
  File given{out_of_the_way(fcntl(fd_, F_DUPFD_CLOEXEC, 3)), which_};
  Identity found;
  if (given.fd >= 0 && !(identify(given.fd, &found) && found == which_)) {
    close(given.fd);
    given.fd = -1;
  }
  return given;
}

const char* Region::remark() const noexcept {
  if (shared_) return setting_error_.text;
  return base_ != nullptr ? "a forked child has no arena" : none_.text;
}

void* Region::allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept {
  const std::lock_guard lock(mutex_);
  if (!shared_ || bytes > bytes_) {
    ++statistics_.refused;
    return nullptr;
  }
  const std::uint32_t units = units_for(bytes),
                      at = heap_.allocate(units, alignment <= Heap::kUnit ? 1 : units_for(alignment));
  // The region itself is aligned only to a unit.
  if (at == Heap::kNone || reinterpret_cast<std::uintptr_t>(base_ + at * Heap::kUnit) % alignment != 0 ||
      !open(std::size_t{at + units} * Heap::kUnit)) {
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

void Region::idle(Heap::Run run, std::uint64_t freed) noexcept {
  statistics_.used -= freed;
  idle_ += freed;
  if (idle_ <= kKeepIdle || !shared_ || run.length == 0) return;
  const std::size_t first = std::size_t{run.first} * Heap::kUnit, bytes = std::size_t{run.length} * Heap::kUnit;
  if (first < opened_) give_back(base_ + first, std::min(bytes, opened_ - first));
  idle_ -= std::min<std::uint64_t>(idle_, bytes);
}

// Uses the mapping: the program may have reused the descriptor's number.
void Region::give_back(std::byte* at, std::size_t bytes) noexcept {
  if (madvise(at, bytes, MADV_REMOVE) == 0) return;
  // The kernel refuses locked memory. Later allocations there must be locked again.
  if (errno != EINVAL || munlock(at, bytes) != 0) return;
  madvise(at, bytes, MADV_REMOVE);
  mlock2(at, bytes, MLOCK_ONFAULT);
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
  if (!open(std::size_t{unit + units} * Heap::kUnit)) {
    heap_.shrink(unit, before);
    return false;
  }
  touched_ = std::max(touched_, unit + units);
  statistics_.used += std::uint64_t{units - before} * Heap::kUnit;
  statistics_.peak = std::max(statistics_.peak, statistics_.used);
  return true;
}

Statistics Region::statistics() noexcept {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace stretto::node::arena
