#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "node/arena/arena.hpp"
#include "node/arena/heap.hpp"
#include "node/arena/setting.hpp"

namespace stretto::node::arena {

// Half of the machine's memory, a sixteenth of a limited address space (peers map the arena too), and at most `most`.
// RLIMIT_FSIZE bounds every arena.
std::uint64_t default_bound(std::uint64_t memory, std::uint64_t address_space, std::uint64_t most) noexcept;

class Region {
 public:
  static Region& mine() noexcept;
  static Region* made() noexcept;

  static void at_most(std::uint64_t bytes) noexcept;

  View view() const noexcept { return {base_, shared_ ? bytes_ : 0}; }
  File file() noexcept;
  const char* remark() const noexcept;
  const SettingError& setting_error() const noexcept { return setting_error_; }
  void* allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed) noexcept;
  bool owns(const void* at) const noexcept {
    const auto* p = static_cast<const std::byte*>(at);
    return base_ != nullptr && p >= base_ && p < base_ + bytes_;
  }
  void release(void* at) noexcept;
  std::size_t usable(const void* at) noexcept;
  bool resize(void* at, std::size_t bytes) noexcept;
  Statistics statistics() noexcept;

 private:
  Region() noexcept;
  std::size_t bound() noexcept;
  const char* make(std::size_t bytes) noexcept;
  bool open(std::size_t end) noexcept;
  void give_back(std::byte* at, std::size_t bytes) noexcept;
  bool still_ours() const noexcept;
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;
  void copy_for_child() noexcept;
  void idle(Heap::Run run, std::uint64_t freed) noexcept;
  std::uint32_t unit_of(const void* at) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<const std::byte*>(at) - base_) /
                                      Heap::kUnit);
  }

  std::mutex mutex_;
  Heap heap_;
  int fd_ = -1;
  Identity which_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t opened_ = 0;
  bool locks_ = false;   // the program locks its mappings (mlockall)
  bool shared_ = false;  // false in a forked child
  std::uint32_t touched_ = 0;
  std::uint64_t idle_ = 0;
  int fork_pipe_[2] = {-1, -1};
  Statistics statistics_;
  SettingError setting_error_;
  SettingError none_;
};

const Interface& interface_of_mine() noexcept;

}  // namespace stretto::node::arena
