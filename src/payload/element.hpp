#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element_kinds.hpp"

namespace stretto::payload {

// right = left (op) right; associative. Must not write `left`.
struct UserFunction {
  void (*function)(const void* left, void* right, std::size_t count, void* context) = nullptr;
  void* context = nullptr;
  bool commutes = true;
};

std::size_t size_of(Type t) noexcept;
const char* name(Type t) noexcept;
const char* name(Op op) noexcept;

bool defined(Op op, Type t) noexcept;

// For compressed payloads: sum, difference, min, max, mean.
bool compressible(Op op) noexcept;

std::optional<codec::Type> codec_type(Type t) noexcept;

}  // namespace stretto::payload
