// What a reduction combines, and where its results go: lists whose room is kept from call to call.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::node {

// Positions of elements.
struct Range {
  std::size_t first = 0, end = 0;
  bool empty() const noexcept { return first >= end; }
};

struct Operands {
  struct Source {
    int rank = 0;
    Range part;
    const std::byte* at = nullptr;     // of part.first, where it lies in a row
    const std::byte* whole = nullptr;  // of the vector, where elements are looked up one run at a time
  };
  std::vector<std::vector<Source>> sources;  // by child group
  std::vector<const std::byte*> row;         // the same, of the row in hand
  std::vector<std::byte*> outputs;           // by rank, where results are pushed; null: nothing goes there
  std::vector<int> readers;                  // of this rank's slots
  std::vector<char> reads;                   // by rank, whether it is one
};

}  // namespace stretto::node
