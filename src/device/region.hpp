// Memory of a device, or pinned memory of the host, for pools: large pieces from the plugin, handed out from their beginning.
// A piece is reused once all its parts have been given back.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.hpp"
#include "device/plugin.hpp"
#include "payload/pool.hpp"

namespace stretto::device {

class Region final : public payload::Memory {
 public:
  // The plugin's device must be current whenever the region allocates.
  Region(const Plugin& plugin, MemoryKind kind, const char* what) noexcept
      : plugin_(plugin), kind_(kind), what_(what) {}
  ~Region() override { drop(); }  // memory that a carrier still uses stays
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Status allocate(std::size_t bytes, std::byte** data) noexcept override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

  // Makes it `bytes` long, and lets it grow no more: what needs more ends in buffer_too_small. Precondition: none of it
  // is in use.
  Status fix(std::size_t bytes) noexcept;

  // Gives all memory back to the plugin, except pieces still in use.
  void drop() noexcept;

  // Where the piece with `p` begins; null: none has it. From then on another process may use the piece: it is released with the region,
  // not by fix().
  std::byte* share(const void* p) noexcept;

  // Another process may not have let go of shared pieces, and memory that it has opened must not be released: they stay for as long as
  // this process.
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
