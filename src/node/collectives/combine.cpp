#include "node/collectives/combine.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace stretto::node {

using payload::Op;
using payload::Type;

Status check(const Combination& operation, Type type) noexcept {
  if (operation.op == Op::user && operation.user.function == nullptr)
    return fail(Status::invalid_argument, "a user operation without a function");
  if (operation.op == Op::difference)
    return fail(Status::unsupported, "difference is no operation of a node's reductions: negate, then sum");
  if (!payload::defined(operation.op, type))
    return fail(Status::unsupported, "{} is not defined on {}", payload::name(operation.op), payload::name(type));
  return Status::ok;
}

Status join(const Combination& operation, Type type, const void* left, const void* right, void* to,
            std::size_t count) noexcept {
  if (operation.op != Op::user) return payload::combine_values(operation.op, type, left, right, to, count);
  std::memcpy(to, right, count * payload::size_of(type));
  operation.user.function(left, to, count, operation.user.context);
  return Status::ok;
}

Status fold(const Combination& operation, Type type, void* sum, const void* next, std::size_t count) noexcept {
  if (operation.op != Op::user) return payload::combine_values(operation.op, type, sum, next, sum, count);
  // A user function writes to its right operand, a peer's memory.
  alignas(64) std::array<std::byte, 4096> right;
  const std::size_t size = payload::size_of(type), most = right.size() / size;
  auto* s = static_cast<std::byte*>(sum);
  const auto* n = static_cast<const std::byte*>(next);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t some = std::min(most, count - at);
    std::memcpy(right.data(), n + at * size, some * size);
    operation.user.function(s + at * size, right.data(), some, operation.user.context);
    std::memcpy(s + at * size, right.data(), some * size);
  }
  return Status::ok;
}

Status finish(const Combination& operation, Type type, void* values, std::size_t count, int ranks) noexcept {
  if (operation.op != Op::mean) return Status::ok;
  return payload::divide_values(type, values, count, static_cast<std::uint32_t>(ranks));
}

}  // namespace stretto::node
