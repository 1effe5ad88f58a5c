// Units of 64 KiB of a region. Free runs are listed by the power of two of their length, and joined with free
// neighbours at once. Allocates no memory, since it serves malloc. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::node::arena {

class Heap {
 public:
  static constexpr std::size_t kUnit = 64 * 1024;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The memory must be zeroed.
  static std::size_t tables_for(std::size_t units) noexcept { return units * sizeof(Unit); }

  // Units 0 to units - 1 (fewer than 2^31), all free.
  void start(void* tables, std::uint32_t units) noexcept;

  // At a multiple of `alignment` units (a power of two), or kNone.
  std::uint32_t allocate(std::uint32_t units, std::uint32_t alignment) noexcept;

  struct Run {
    std::uint32_t first, length;
  };
  Run release(std::uint32_t first) noexcept;

  Run shrink(std::uint32_t first, std::uint32_t units) noexcept;

  // False: the following units are in use.
  bool grow(std::uint32_t first, std::uint32_t units) noexcept;

  std::uint32_t length(std::uint32_t first) const noexcept { return table_[first].length; }
  bool used(std::uint32_t first) const noexcept { return table_[first].used != 0; }
  std::uint32_t units() const noexcept { return units_; }

 private:
  // The last unit of a run has `first` alone.
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
