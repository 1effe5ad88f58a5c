#include "node/arena/anonymous.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace stretto::node::arena {
namespace {

constexpr int kLongestTable = 256;  // numbers from 192 on are high enough in longer tables, too

// Missing in many C libraries' headers.
constexpr unsigned kNoExecSeal = 0x8;  // MFD_NOEXEC_SEAL, Linux 6.3; needed where vm.memfd_noexec is 2

int close_and_fail(int fd) noexcept {
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// 64, or more if this process or its parent had more open. Lengthening the table in a process with threads takes 10 to
// 20 ms (a grace period of all processors).
int table_length() noexcept {
  constexpr int shortest = 64;
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return shortest;
  std::array<char, 4096> text{};
  const ssize_t n = read(fd, text.data(), text.size() - 1);
  close(fd);
  if (n <= 0) return shortest;
  constexpr std::string_view name = "\nFDSize:";
  const char* at = std::strstr(text.data(), name.data());
  return at == nullptr ? shortest : std::clamp(std::atoi(at + name.size()), shortest, kLongestTable);
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
  int fd = memfd_create(name, flags | kNoExecSeal);
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
  static std::atomic<int> table{0};  // kLongestTable after it proved too short
  int length = table.load();
  if (length == 0) table.store(length = table_length());
  rlimit limit{};
  const rlim_t allowed = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
  const auto high = static_cast<int>(std::min(allowed, static_cast<rlim_t>(length)) / 4 * 3);
  int moved = high > 2 ? fcntl(fd, F_DUPFD_CLOEXEC, high) : -1;
  if (moved >= length) table.store(kLongestTable);
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
