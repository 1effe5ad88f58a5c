// How long messages are cut over the connections to a peer.
#include "modules/ucx/pieces.hpp"

#include <gtest/gtest.h>

using namespace stretto::modules;

TEST(Pieces, CoverAMessageOfAnyLengthInOrderAndNoneIsEmpty) {
  for (unsigned connections = 1; connections <= kMostConnections; ++connections)
    for (std::size_t bytes = 0; bytes < 20 * kLeastPiece; bytes += 1009) {
      const unsigned pieces = pieces_of(bytes, connections);
      ASSERT_GE(pieces, 1u);
      ASSERT_LE(pieces, connections);
      std::size_t end = 0;
      for (unsigned i = 0; i < pieces; ++i) {
        const Piece piece = piece_of(bytes, pieces, i);
        ASSERT_EQ(piece.offset, end) << bytes << " bytes in " << pieces;
        ASSERT_TRUE(piece.bytes > 0 || bytes == 0) << bytes << " bytes in " << pieces;
        end += piece.bytes;
      }
      ASSERT_EQ(end, bytes) << pieces << " pieces";
    }
}

TEST(Pieces, AreNotShorterThanPays) {
  EXPECT_EQ(pieces_of(2 * kLeastPiece - 1, 8), 1u);
  EXPECT_EQ(pieces_of(2 * kLeastPiece, 8), 2u);
  EXPECT_EQ(pieces_of(std::size_t{1} << 40, 8), 8u);
  EXPECT_EQ(pieces_of(std::size_t{1} << 40, 1), 1u);
}
