// The operation of a reduction, applied block by block in rank order.
#pragma once

#include <cstddef>
#include <cstdint>

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
