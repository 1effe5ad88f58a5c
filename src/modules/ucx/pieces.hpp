// A long message is spread over a peer's connections. The first connection has a lead under the message's own tag, with
// the cut bit and all lengths; connection i has piece i under a tag of pieces. The sender decides, so ranks'
// connections may differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stretto::modules {

inline constexpr unsigned kMostConnections = 8;
inline constexpr std::size_t kLeastSpread = std::size_t{32} << 10;  // shorter messages use the first connection
inline constexpr std::size_t kLeastPiece = std::size_t{64} << 10;

struct Lead {
  std::uint64_t bytes = 0;
  std::uint32_t number = 0;  // counts the sender's cut messages; in the pieces' tags
  std::uint32_t pieces = 0;
};

struct Piece {
  std::size_t offset = 0, bytes = 0;
};

// 1: sent whole.
constexpr unsigned pieces_of(std::size_t bytes, unsigned connections) noexcept {
  return static_cast<unsigned>(std::clamp<std::size_t>(bytes / kLeastPiece, 1, connections));
}

constexpr Piece piece_of(std::size_t bytes, unsigned pieces, unsigned i) noexcept {
  constexpr std::size_t page = 4096;
  const std::size_t each = (bytes / pieces + page) / page * page, offset = std::min(each * i, bytes);
  return {offset, std::min(each, bytes - offset)};
}

}  // namespace stretto::modules
