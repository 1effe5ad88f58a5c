// Stand-in for libxpmem without the module: between threads of one process, whose memory needs no mapping. It counts
// attachments for tests, and refuses the same requests as the module.
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

namespace {

std::mutex mutex;
std::map<void*, int> attached;  // by address: how often
std::atomic<bool> refuses{false};
thread_local bool refuses_here = false;  // to this thread, which is a rank
std::atomic<long> segments{0}, permits{0}, attachments{0}, calls{0};

}  // namespace

extern "C" {

struct xpmem_addr {
  std::int64_t apid;
  std::int64_t offset;
};

std::int64_t xpmem_make(void* at, std::size_t size, int permit, void* mode) {
  if (std::getenv("STAND_IN_XPMEM_REFUSES") != nullptr || at != nullptr || size != ~std::size_t{0} || permit != 1 ||
      reinterpret_cast<std::uintptr_t>(mode) != 0600) {
    errno = EACCES;
    return -1;
  }
  static const int device = open("/dev/null", O_RDWR | O_CLOEXEC);  // kept, as libxpmem keeps that of its device
  return device < 0 ? -1 : ++segments;
}
int xpmem_remove(std::int64_t) { return --segments, 0; }
std::int64_t xpmem_get(std::int64_t segment, int flags, int permit, void*) {
  if (segment <= 0 || flags != 2 || permit != 1) return errno = EINVAL, -1;
  return ++permits;
}
int xpmem_release(std::int64_t) { return --permits, 0; }
void* xpmem_attach(xpmem_addr address, std::size_t size, void*) {
  if (address.apid <= 0 || address.offset % 4096 != 0 || size == 0 || size % 4096 != 0)
    return errno = EINVAL, reinterpret_cast<void*>(std::intptr_t{-1});
  if (refuses || refuses_here) return errno = ENOMEM, reinterpret_cast<void*>(std::intptr_t{-1});
  const std::lock_guard lock(mutex);
  auto* at = reinterpret_cast<void*>(address.offset);
  ++attached[at];
  ++attachments;
  ++calls;
  return at;
}
int xpmem_detach(void* at) {
  const std::lock_guard lock(mutex);
  const auto it = attached.find(at);
  if (it == attached.end()) return errno = EINVAL, -1;
  if (--it->second == 0) attached.erase(it);
  --attachments;
  return 0;
}

// For tests: the objects held, and the number of attachments made.
long stand_in_held() { return segments + permits + attachments; }
long stand_in_attached() { return attachments; }
long stand_in_calls() { return calls; }
void stand_in_refuse_to_attach(bool yes) { refuses = yes; }
void stand_in_refuse_this_thread(bool yes) { refuses_here = yes; }
}
