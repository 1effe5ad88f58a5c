#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "payload/arithmetic/arithmetic.hpp"
#include "payload/element.hpp"

namespace stretto::node {

struct Combination {
  payload::Op op = payload::Op::sum;
  payload::UserFunction user{};
  bool rank_by_rank = false;  // ((x0 + x1) + x2) + ..., on any hierarchy

  bool commutes() const noexcept { return op != payload::Op::user || user.commutes; }
};

struct Range {
  std::size_t first = 0, end = 0;
  bool empty() const noexcept { return first >= end; }
};

// Keep their memory from call to call.
struct Operands {
  struct Source {
    int rank = 0;
    Range part;
    const std::byte* at = nullptr;
    const std::byte* whole = nullptr;  // of the vector, if elements are looked up run by run
  };
  std::vector<std::vector<Source>> sources;
  std::vector<const std::byte*> row;
  std::vector<std::byte*> outputs;  // by rank: destination of pushed results; null: none
  std::vector<int> readers;
  std::vector<char> reads;
};

// unsupported if the operation is not defined on the type.
Status check(const Combination& operation, payload::Type type) noexcept;

// sum = sum (op) next, in this order.
Status fold(const Combination& operation, payload::Type type, void* sum, const void* next, std::size_t count) noexcept;

// to = left (op) right. `to` overlaps neither.
Status join(const Combination& operation, payload::Type type, const void* left, const void* right, void* to,
            std::size_t count) noexcept;

// The division of a mean over p ranks.
Status finish(const Combination& operation, payload::Type type, void* values, std::size_t count, int ranks) noexcept;

}  // namespace stretto::node
