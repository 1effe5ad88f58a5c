// Properties of element types and operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element_kinds.hpp"

namespace stretto::payload {

// right = left (op) right, elementwise over `count` elements; associative. `left` may not be written.
struct UserFunction {
  void (*function)(const void* left, void* right, std::size_t count, void* context) = nullptr;
  void* context = nullptr;
  bool commutes = true;
};

std::size_t size_of(Type t) noexcept;
const char* name(Type t) noexcept;
const char* name(Op op) noexcept;

// True if `op` is defined on `t` on raw payloads (user: always).
bool defined(Op op, Type t) noexcept;

// True if `op` may run on compressed payloads: sum, difference, min, max, mean.
bool compressible(Op op) noexcept;

// The codec's name for `t`; none for a type that cannot travel compressed.
std::optional<codec::Type> codec_type(Type t) noexcept;

}  // namespace stretto::payload
