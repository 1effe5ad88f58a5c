// Memory that peers can see. For a range of one rank's memory and the peers that will read it, one of three answers:
//
//   mapped     they load from it and store to it where it is
//   copyable   they have the kernel copy from it (process_vm_readv)
//   staged     its owner copies it through the slots of the segment
//
// The owner decides (expose) and tells how in a line of the group; a peer follows (reach, or read). When the memory is
// made, each access is tried between all ranks, and all agree on the usable ones: the weakest pair decides for the
// group.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "node/group/exchange.hpp"
#include "node/group/group.hpp"

namespace stretto::node {

class Xpmem;

// How peers access a range. `address` is the owner's for process, xpmem and kernel, an offset into its arena for arena.
enum class Access : std::uint32_t { staged, process, arena, xpmem, kernel };
enum class Answer : std::uint8_t { mapped, copyable, staged };

Answer answer(Access a) noexcept;
const char* name(Access a) noexcept;
const char* name(Answer a) noexcept;

struct Exposure {
  std::uint64_t address = 0;
  Access access = Access::staged;
  std::uint32_t reserved = 0;
};

struct MemoryOptions {
  bool process = true;  // ranks that are threads of one process see each other's memory
  bool arena = true;
  bool xpmem = true;
  bool kernel = true;
  const char* xpmem_library = "libxpmem.so.0";
  const char* yama_scope = "/proc/sys/kernel/yama/ptrace_scope";
  Passing passing = Passing::proc_then_socket;
};

class Memory {
 public:
  // Collective over the ranks of `group`.
  static Status create(Exchange& exchange, const Group& group, const MemoryOptions& options,
                       std::unique_ptr<Memory>* memory) noexcept;
  ~Memory();

  // The same for another thread of this rank, without XPMEM, whose attachments belong to one thread. On every rank alike. Throws std::bad_alloc.
  std::unique_ptr<Memory> beside() const;

  // What all peers can do with this range of this rank's memory. kernel: whether the caller wants copies by the kernel at all.
  // Memory without pages is never left to XPMEM: a peer that reads it there ends by SIGBUS.
  Exposure expose(const void* at, std::size_t bytes, bool kernel) const noexcept;

  // From now on no range of this rank's memory is left to copies by the kernel, because a peer was refused one.
  void stop_kernel() noexcept { stopped_kernel_ = true; }

  // Where a mapped range of a peer is in this process. Null when it cannot be reached (a stale exposure, or no room to
  // attach): read() may serve. Valid until 64 + 4p other ranges have been reached.
  std::byte* reach(int peer, const Exposure& exposure, std::size_t offset, std::size_t bytes) noexcept;

  // Copies from a range of a peer that is copyable; or mapped but not reached, if the kernel can copy it. unsupported:
  // the kernel cannot, or refuses by now.
  Status read(int peer, const Exposure& exposure, std::size_t offset, void* to, std::size_t bytes) noexcept;

  // Whether this access is in use in the group, and why (not), for people.
  bool usable(Access a) const noexcept { return usable_[static_cast<std::size_t>(a)]; }
  const std::string& reason(Access a) const noexcept { return reason_[static_cast<std::size_t>(a)]; }

 private:
  struct Peer {
    pid_t pid = 0;
    std::byte* arena = nullptr;  // mapped here; null: none
    std::size_t arena_bytes = 0;
    std::size_t opened = 0;            // of it, known to be accessible
    std::shared_ptr<Mapping> mapping;  // of its arena, shared by all memories of this process
  };
  struct Meeting;  // what building takes besides (memory_meeting.hpp)

  Memory() = default;
  Status build(Meeting& meeting, const Group& group, const MemoryOptions& options) noexcept;
  Status build_arenas(Meeting& meeting, const MemoryOptions& options) noexcept;
  Status build_kernel(Meeting& meeting, const MemoryOptions& options) noexcept;
  Status build_xpmem(Meeting& meeting, const MemoryOptions& options) noexcept;
  static std::byte* reach_arena(Peer& peer, std::uint64_t at, std::size_t bytes) noexcept;
  Status settle(Meeting& meeting, Access a, bool mine, std::string_view why) noexcept;

  std::vector<Peer> peers_;
  std::array<bool, 5> usable_{};
  std::array<std::string, 5> reason_{};
  std::unique_ptr<Xpmem> xpmem_;
  bool stopped_kernel_ = false;
};

// Reads another process's memory through the kernel; also where the kernel copies in parts. Names the process on failure;
// errno is the kernel's then.
Status read_process(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) noexcept;

// Whether a range of this process's memory has pages that the kernel hands to others: not that of a device, nor what CUDA pinned, nor
// what XPMEM attached here. Its two ends are tried; true where the kernel does not tell.
bool has_pages(const void* at, std::size_t bytes) noexcept;

}  // namespace stretto::node
