// Pieces of memory are handed out from their beginning, and reused once all parts are back.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.hpp"
#include "device/plugin.hpp"
#include "payload/pool.hpp"

namespace stretto::device {

class Region final : public payload::Memory {
 public:
  // The plugin's device must be current during allocations.
  Region(const Plugin& plugin, MemoryKind kind, const char* what) noexcept
      : plugin_(plugin), kind_(kind), what_(what) {}
  ~Region() override { drop(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Status allocate(std::size_t bytes, std::byte** data) noexcept override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

  // Larger needs end in buffer_too_small. Requires no memory in use.
  Status fix(std::size_t bytes) noexcept;

  void drop() noexcept;

  // Start of the piece with `p`, or null. Another process may use the piece: fix() does not release it.
  std::byte* share(const void* p) noexcept;

  // Shared pieces stay as long as this process: another may have them open.
  void keep_shared() noexcept { keeps_shared_ = true; }

  bool is_fixed() const noexcept { return fixed_; }
  std::size_t bytes() const noexcept { return total_; }
  std::size_t used() const noexcept { return used_; }

 private:
  struct Piece {
    std::byte* data;
    std::size_t bytes, given;
    bool shared = false;
  };
  Status add(std::size_t bytes) noexcept;
  void give_back(const Piece& piece) noexcept;
  void free_all() noexcept;

  const Plugin& plugin_;
  const MemoryKind kind_;
  const char* const what_;
  std::vector<Piece> pieces_, retired_;
  std::size_t total_ = 0, used_ = 0;
  bool fixed_ = false, keeps_shared_ = false;
};

}  // namespace stretto::device
