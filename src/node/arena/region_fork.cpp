#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "node/arena/region.hpp"

namespace stretto::node::arena {
namespace {

bool copy(std::byte* at, std::size_t bytes) noexcept {
  void* const own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (own == MAP_FAILED) return false;
  std::memcpy(own, at, bytes);
  if (mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED) return true;
  munmap(own, bytes);
  return false;
}

}  // namespace

// The parent waits in fork() until the child has copied all allocations, and closes its end of a pipe, as its death
// does.
void Region::before_fork() noexcept {
  mutex_.lock();
  fork_pipe_[0] = fork_pipe_[1] = -1;
  if (!shared_ || statistics_.used == 0 || pipe2(fork_pipe_, O_CLOEXEC) != 0) return;
  for (int& end : fork_pipe_) end = out_of_the_way(end);
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
  const bool ours = still_ours();
  for (std::uint32_t unit = 0; unit < heap_.units(); unit += heap_.length(unit)) {
    std::byte* at = base_ + std::size_t{unit} * Heap::kUnit;
    const std::size_t bytes = std::size_t{heap_.length(unit)} * Heap::kUnit;
    if (!heap_.used(unit)) {
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      continue;
    }
    if (copy(at, bytes)) continue;
    // Without memory for a copy the child at least cannot write to its parent's.
    const bool copies = ours && mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd_,
                                     static_cast<off_t>(std::uint64_t{unit} * Heap::kUnit)) != MAP_FAILED;
    if (!copies) mprotect(at, bytes, PROT_READ);
  }
  if (ours) close(fd_);
  fd_ = -1;
  shared_ = false;
}

}  // namespace stretto::node::arena
