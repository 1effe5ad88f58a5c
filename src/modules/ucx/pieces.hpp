// Pieces of a long message, spread over the connections to a peer, since a network may limit the rate of one connection.
//
// The sender sends a lead under the message's own tag, which says so, on the first connection, and piece i on connection
// i, under a tag of pieces. The receiver learns all lengths from the lead, and receives the pieces in place. The sender
// alone decides, so ranks may differ in how many connections they open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stretto::modules {

inline constexpr unsigned most_connections = 8;
inline constexpr std::size_t least_spread = std::size_t{32} << 10;  // shorter messages stay on the first connection
inline constexpr std::size_t least_piece = std::size_t{64} << 10;

// Ranks of a job have one architecture, as their values have.
struct Lead {
  std::uint64_t bytes = 0;   // of the message
  std::uint32_t number = 0;  // of the sender's messages that were cut; in the pieces' tags
  std::uint32_t pieces = 0;
};

struct Piece {
  std::size_t offset = 0, bytes = 0;
};

// Into how many pieces a message is cut; 1: it is sent whole.
constexpr unsigned pieces_of(std::size_t bytes, unsigned connections) noexcept {
  return static_cast<unsigned>(std::clamp<std::size_t>(bytes / least_piece, 1, connections));
}

// Piece `i` of `pieces`. Pieces begin on whole pages of the message, and the last may be shorter.
constexpr Piece piece_of(std::size_t bytes, unsigned pieces, unsigned i) noexcept {
  constexpr std::size_t page = 4096;
  const std::size_t each = (bytes / pieces + page) / page * page, offset = std::min(each * i, bytes);
  return {offset, std::min(each, bytes - offset)};
}

}  // namespace stretto::modules
