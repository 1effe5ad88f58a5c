#include "faults.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace boundary {
namespace {

constexpr Fault kAll[] = {
    {"getrandom", ENOSYS},
    {"memfd_create", EPERM},
    {"fchmod", EPERM},
    {"ftruncate", ENOSPC},
    {"fcntl", EMFILE},
    {"mmap", ENOMEM},
    {"mprotect", ENOMEM},
    {"madvise", ENOMEM},
    {"mremap", ENOMEM},
    {"open", EMFILE},
    {"readlink", EACCES},
    {"pipe2", EMFILE},
    {"write", EPIPE},
    {"poll", EINTR},
    {"socket", EMFILE},
    {"bind", EADDRINUSE},
    {"listen", EADDRINUSE},
    {"connect", ECONNREFUSED},
    {"accept4", EMFILE},
    {"sendmsg", EPIPE},
    {"recvmsg", EMFILE},
    {"pidfd_open", ENOSYS},
    {"process_vm_readv", EPERM},
    {"prctl", EPERM},
    {"getrlimit", EPERM},
    {"sched_getaffinity", EINVAL},
    {"pthread_create", EAGAIN},
};

std::atomic<const Fault*> armed{nullptr}, denied[2]{};
std::atomic<long> left{0};
std::atomic<bool> hit{false};
bool counts_program = false;

bool from_stretto(const void* caller) noexcept {
  Dl_info place{}, own{};
  if (dladdr(caller, &place) == 0 || place.dli_fname == nullptr) return false;
  if (std::strstr(place.dli_fname, "libstretto") != nullptr) return true;
  return counts_program && dladdr(&counts_program, &own) != 0 && place.dli_fbase == own.dli_fbase;
}

// The errno that the call should fail with; 0: execute it.
[[gnu::noinline]] int refusal(const char* call, const void* caller) noexcept {
  const Fault* const f = armed.load(std::memory_order_acquire);
  const auto is = [call](const Fault* fault) { return fault != nullptr && std::strcmp(fault->call, call) == 0; };
  const Fault* d = nullptr;
  for (const auto& each : denied)
    if (const Fault* const other = each.load(std::memory_order_acquire); is(other)) d = other;
  if (!is(f) && !d) return 0;
  const int before = errno;
  const bool counts = from_stretto(caller);
  errno = before;
  if (!counts) return 0;
  if (d) return d->error;
  if (left.fetch_sub(1) != 0) return 0;
  hit = true;
  return f->error;
}

bool refused(const char* call, const void* caller) noexcept {
  const int error = refusal(call, caller);
  if (error != 0) errno = error;
  return error != 0;
}

template <class Function>
Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

std::span<const Fault> faults() noexcept { return kAll; }

Fails::Fails(const Fault& fault, long n) noexcept {
  hit = false;
  left = n;
  armed.store(&fault, std::memory_order_release);
}
Fails::~Fails() { armed = nullptr; }
bool Fails::struck() const noexcept { return hit; }

void count_the_program() noexcept { counts_program = true; }

void always(const Fault& fault) noexcept { denied[denied[0] ? 1 : 0].store(&fault, std::memory_order_release); }
void never_again() noexcept {
  for (auto& each : denied) each = nullptr;
}

}  // namespace boundary

using boundary::real;
using boundary::refused;

#define CALLER __builtin_return_address(0)
// The C library's own function of this name.
#define REAL(name)                                        \
  ([] {                                                   \
    static auto* const f = real<decltype(::name)>(#name); \
    return f;                                             \
  }())

// One line a function: it fails, or is the C library's.
#define STAND_IN(result, name, parameters, ...) \
  result name parameters { return refused(#name, CALLER) ? result(-1) : REAL(name)(__VA_ARGS__); }

extern "C" {

STAND_IN(ssize_t, getrandom, (void* to, size_t n, unsigned flags), to, n, flags)
STAND_IN(int, memfd_create, (const char* name, unsigned flags) noexcept, name, flags)
STAND_IN(int, fchmod, (int fd, mode_t mode) noexcept, fd, mode)
STAND_IN(int, ftruncate, (int fd, off_t n) noexcept, fd, n)
STAND_IN(int, mprotect, (void* at, size_t n, int access) noexcept, at, n, access)
STAND_IN(int, madvise, (void* at, size_t n, int advice) noexcept, at, n, advice)
STAND_IN(ssize_t, readlink, (const char* path, char* to, size_t n) noexcept, path, to, n)
STAND_IN(int, pipe2, (int ends[2], int flags) noexcept, ends, flags)
STAND_IN(ssize_t, write, (int fd, const void* from, size_t n), fd, from, n)
STAND_IN(int, poll, (pollfd * fds, nfds_t n, int ms), fds, n, ms)
STAND_IN(int, socket, (int domain, int type, int protocol) noexcept, domain, type, protocol)
STAND_IN(int, bind, (int fd, const sockaddr* address, socklen_t n) noexcept, fd, address, n)
STAND_IN(int, listen, (int fd, int n) noexcept, fd, n)
STAND_IN(int, connect, (int fd, const sockaddr* address, socklen_t n), fd, address, n)
STAND_IN(int, accept4, (int fd, sockaddr* address, socklen_t* n, int flags), fd, address, n, flags)
STAND_IN(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), fd, message, flags)
STAND_IN(ssize_t, recvmsg, (int fd, msghdr* message, int flags), fd, message, flags)
STAND_IN(ssize_t, process_vm_readv,
         (pid_t pid, const iovec* here, unsigned long n, const iovec* there, unsigned long m,
          unsigned long flags) noexcept,
         pid, here, n, there, m, flags)
STAND_IN(int, getrlimit, (__rlimit_resource_t resource, rlimit* limit) noexcept, resource, limit)
STAND_IN(int, sched_getaffinity, (pid_t pid, size_t n, cpu_set_t* cores) noexcept, pid, n, cores)

void* mmap(void* at, size_t n, int access, int flags, int fd, off_t offset) noexcept {
  return refused("mmap", CALLER) ? MAP_FAILED : REAL(mmap)(at, n, access, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  const int error = boundary::refusal("pthread_create", CALLER);
  return error != 0 ? error : REAL(pthread_create)(thread, attributes, run, argument);
}

// Variadic functions: reads as many arguments as any such call takes; the C library uses those that exist.
void* mremap(void* at, size_t n, size_t bytes, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  return refused("mremap", CALLER) ? MAP_FAILED : REAL(mremap)(at, n, bytes, flags, to);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, unsigned) : 0;
  va_end(list);
  return refused("open", CALLER) ? -1 : REAL(open)(path, flags, mode);
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return refused("fcntl", CALLER) ? -1 : REAL(fcntl)(fd, command, argument);
}

int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long a[4];
  for (unsigned long& x : a) x = va_arg(list, unsigned long);
  va_end(list);
  return refused("prctl", CALLER) ? -1 : REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& x : a) x = va_arg(list, long);
  va_end(list);
  if (number == SYS_pidfd_open && refused("pidfd_open", CALLER)) return -1;
  return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}
