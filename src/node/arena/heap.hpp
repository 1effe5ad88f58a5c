// Which parts of a region are in use: runs of 64 KiB units, free runs in lists by the power of two of their length, joined with free
// neighbours at once. It allocates nothing itself, so that it can serve malloc; not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

class Heap {
 public:
  static constexpr std::size_t kUnit = 64 * 1024;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Bytes of tables that a heap of so many units needs; zeroed memory, sparse is enough.
  static std::size_t tables_for(std::size_t units) noexcept { return units * sizeof(Unit); }

  // Manages units 0 .. units - 1 (below 2^31); all free.
  void start(void* tables, std::uint32_t units) noexcept;

  // First unit of a run of so many, at a multiple of `alignment` units (a power of two); kNone when there is no such run.
  std::uint32_t allocate(std::uint32_t units, std::uint32_t alignment) noexcept;

  // Gives a run back. Returns the free run that it became part of.
  struct Run {
    std::uint32_t first, length;
  };
  Run release(std::uint32_t first) noexcept;

  // Gives the end of a run back.
  Run shrink(std::uint32_t first, std::uint32_t units) noexcept;

  // Whether the run could be made so long where it is; it is then.
  bool grow(std::uint32_t first, std::uint32_t units) noexcept;

  std::uint32_t length(std::uint32_t first) const noexcept { return table_[first].length; }
  bool used(std::uint32_t first) const noexcept { return table_[first].used != 0; }
  std::uint32_t units() const noexcept { return units_; }

 private:
  // Of the first unit of a run; `first` also of its last one.
  struct Unit {
    std::uint32_t length, used, first, next, previous;
  };
  static constexpr int kBins = 32;

  void set(std::uint32_t first, std::uint32_t length, bool used) noexcept;
  void list(std::uint32_t first) noexcept;
  void unlist(std::uint32_t first) noexcept;
  void cut(std::uint32_t first, std::uint32_t units) noexcept;
  std::uint32_t aligned(std::uint32_t first, std::uint32_t units, std::uint32_t alignment) const noexcept;

  Unit* table_ = nullptr;
  std::uint32_t units_ = 0;
  std::uint32_t bins_[kBins];
};

}  // namespace stretto::node::arena
