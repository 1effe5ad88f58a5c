#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/memory/memory.hpp"

namespace stretto::node {

Status read_process(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) noexcept {
  constexpr std::size_t most = std::size_t{1} << 30;  // below the kernel's limit of 2^31 less a page
  for (std::size_t moved = 0; moved < bytes;) {
    iovec here{static_cast<std::byte*>(to) + moved, std::min(bytes - moved, most)};
    iovec there{reinterpret_cast<void*>(address + moved), here.iov_len};
    const ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    const int error = errno;
    if (n < 0 && error == ESRCH)
      return fail(Status::mpi_error, "process {} has ended; its memory was to be read (process_vm_readv)", pid);
    if (n <= 0)
      return fail(Status::unsupported, "process_vm_readv of {} bytes at {:#x} of process {}: {}", bytes - moved,
                  address + moved, pid, n < 0 ? std::strerror(error) : "nothing was read");
    moved += static_cast<std::size_t>(n);
  }
  return Status::ok;
}

bool has_pages(const void* at, std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  auto* const first = static_cast<std::byte*>(const_cast<void*>(at));
  std::byte ends[2];
  iovec here{ends, sizeof ends};
  iovec there[2]{{first, 1}, {first + bytes - 1, 1}};
  const ssize_t n = process_vm_readv(getpid(), &here, 1, there, 2, 0);
  return n < 0 ? errno != EFAULT : n == ssize_t{sizeof ends};
}

}  // namespace stretto::node
