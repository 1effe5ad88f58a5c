#include "node/arena/anonymous.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stretto::node::arena {
namespace {

// Newer than many a C library's headers.
constexpr unsigned no_exec_seal = 0x8;  // MFD_NOEXEC_SEAL, Linux 6.3; needed where vm.memfd_noexec is 2

int close_and_fail(int fd) noexcept {
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

std::uint64_t longest_file() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return limit.rlim_cur;
}

int make_anonymous(const char* name, std::size_t bytes) noexcept {
  if (bytes > longest_file()) {
    errno = EFBIG;
    return -1;
  }
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create(name, flags | no_exec_seal);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, flags);
  if (fd < 0) return -1;
  if (fd = out_of_the_way(fd); fd < 0) return -1;
  if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return close_and_fail(fd);
  return fd;
}

int out_of_the_way(int fd) noexcept {
  if (fd < 0) return fd;
  // Below 256, as long as the kernel's table of most programs is. To lengthen the table of a process with threads, the
  // kernel waits until all processors have passed through it: 20 ms.
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const auto high = static_cast<int>(std::min<rlim_t>(known ? limit.rlim_cur : 0, 256) / 4 * 3);
  int moved = high > 2 ? fcntl(fd, F_DUPFD_CLOEXEC, high) : -1;
  if (moved < 0 && fd > 2) return fd;
  if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (moved < 0) return close_and_fail(fd);
  close(fd);
  return moved;
}

bool identify(int fd, Identity* found) noexcept {
  struct stat is {};
  if (fd < 0 || fstat(fd, &is) != 0) return false;
  *found = {is.st_dev, is.st_ino};
  return true;
}

}  // namespace stretto::node::arena
