// Memory that is visible to peers (docs/node.md). A range of one rank's memory is one of:
//
//   mapped     peers load and store in place
//   copyable   the kernel copies for the peers (process_vm_readv)
//   staged     the owner copies through the slots of the segment
//
// The owner decides (expose) and announces the answer in a line; a peer follows it (reach or read).
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

// `address` is the owner's virtual address, but for arena an offset into its arena.
enum class Access : std::uint32_t { staged, process, arena, xpmem, kernel };
inline constexpr std::size_t kAccesses = 5;
enum class Visibility : std::uint8_t { mapped, copyable, staged };

Visibility visibility(Access a) noexcept;
const char* name(Access a) noexcept;
const char* name(Visibility a) noexcept;

struct Exposure {
  std::uint64_t address = 0;
  Access access = Access::staged;
  std::uint32_t reserved = 0;
};

struct MemoryOptions {
  bool process = true;  // between threads of one process
  bool arena = true;
  bool xpmem = true;
  bool kernel = true;
  const char* xpmem_library = "libxpmem.so.0";
  const char* yama_scope = "/proc/sys/kernel/yama/ptrace_scope";
  Passing passing = Passing::proc_then_socket;
};

class Memory {
 public:
  static Status create(Exchange& exchange, const Group& group, const MemoryOptions& options,
                       std::unique_ptr<Memory>* memory) noexcept;
  ~Memory();

  // For another thread of this rank, without XPMEM, whose attachments belong to one thread. All ranks call it; no
  // exchange.
  std::unique_ptr<Memory> beside() const;

  // The strongest access that all peers have to this range; with `kernel` perhaps kernel copies. Memory without pages
  // is never exposed through XPMEM: a peer that reads it gets SIGBUS.
  Exposure expose(const void* at, std::size_t bytes, bool kernel) const noexcept;

  // Called after a peer was refused a kernel copy.
  void stop_kernel() noexcept { stopped_kernel_ = true; }

  // Local address of a peer's mapped range. Null if it cannot be reached (a stale exposure, or no room to attach);
  // read() may still work. Valid until 64 + 4p other ranges have been reached.
  std::byte* reach(int peer, const Exposure& exposure, std::size_t offset, std::size_t bytes) noexcept;

  // Copies a peer's range that is copyable, or mapped but out of reach. unsupported: the kernel cannot copy it, or
  // refuses.
  Status read(int peer, const Exposure& exposure, std::size_t offset, void* to, std::size_t bytes) noexcept;

  // reason() explains it.
  bool usable(Access a) const noexcept { return usable_[static_cast<std::size_t>(a)]; }
  const std::string& reason(Access a) const noexcept { return reason_[static_cast<std::size_t>(a)]; }

 private:
  struct Peer {
    pid_t pid = 0;
    std::byte* arena = nullptr;
    std::size_t arena_bytes = 0;
    std::size_t opened = 0;
    std::shared_ptr<Mapping> mapping;  // shared by all memories of this process
  };
  struct Setup;

  Memory() = default;
  Status build(Setup& setup, const Group& group) noexcept;
  static Status offer_arena(Setup& setup) noexcept;
  void find_arenas(Setup& setup) noexcept;
  Status map_arenas(const Setup& setup) noexcept;
  void settle_arenas() noexcept;
  void offer_xpmem(Setup& setup) noexcept;
  void open_xpmem(Setup& setup) noexcept;
  static void offer_kernel(Setup& setup) noexcept;
  void try_kernel(Setup& setup) noexcept;
  void retry_kernel(Setup& setup) noexcept;
  static std::byte* reach_arena(Peer& peer, std::uint64_t at, std::size_t bytes) noexcept;

  std::vector<Peer> peers_;
  std::array<bool, kAccesses> usable_{};
  std::array<std::string, kAccesses> reason_{};
  std::unique_ptr<Xpmem> xpmem_;
  bool stopped_kernel_ = false;
};

// On failure the message names the process, and errno is the kernel's.
Status read_process(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) noexcept;

// process_vm_readv can access the range's pages: memory of devices, memory pinned by CUDA and XPMEM attachments have
// none. Checks the two ends; true if the kernel gives no answer.
bool has_pages(const void* at, std::size_t bytes) noexcept;

}  // namespace stretto::node
