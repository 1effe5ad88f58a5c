#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "call/agreement.hpp"
#include "call/call.hpp"

namespace stretto::select {

// Of a collective's shape, type and bound. Never 0.
std::uint64_t key_of(const call::Call& call, std::size_t bytes) noexcept;

// Agreed in blocking calls, by collective, type, bound and length. All ranks call alike, so every rank has equal
// ratios.
class Ratios {
 public:
  std::optional<call::Shrinks> recall(const call::Call& call, std::size_t bytes) const noexcept;
  void remember(const call::Call& call, std::size_t bytes, const call::Shrinks& ratios) noexcept;

  std::uint64_t changes() const noexcept { return changes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    call::Shrinks ratios;
  };
  std::array<Entry, 64> entries_;
  std::uint64_t changes_ = 0;
};

}  // namespace stretto::select
