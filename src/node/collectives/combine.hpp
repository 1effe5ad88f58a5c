// The operation of a reduction, applied block by block in rank order, and the lists of what it is applied to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "payload/arithmetic.hpp"
#include "payload/element.hpp"

namespace stretto::node {

// What a reduction combines and how.
struct Combination {
  payload::Op op = payload::Op::sum;
  payload::UserFunction user{};  // with payload::Op::user
  bool rank_by_rank = false;     // ((x0 + x1) + x2) + ..., on any hierarchy

  bool commutes() const noexcept { return op != payload::Op::user || user.commutes; }
};

// Positions of elements.
struct Range {
  std::size_t first = 0, end = 0;
  bool empty() const noexcept { return first >= end; }
};

// What a reduction combines, and where its results go: lists whose room is kept from call to call.
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

// unsupported unless the operation is defined on the type.
Status check(const Combination& operation, payload::Type type) noexcept;

// sum = sum (op) next, in this order.
Status fold(const Combination& operation, payload::Type type, void* sum, const void* next, std::size_t count) noexcept;

// to = left (op) right. to is apart from both.
Status join(const Combination& operation, payload::Type type, const void* left, const void* right, void* to,
            std::size_t count) noexcept;

// The end of a mean over p ranks; nothing for other operations.
Status finish(const Combination& operation, payload::Type type, void* values, std::size_t count, int ranks) noexcept;

}  // namespace stretto::node
