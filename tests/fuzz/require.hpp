// A promise that is broken ends the program, so that libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/status.hpp"
#include "base/text/printable.hpp"

namespace stretto {

inline void require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s (last message: %s)\n", promise, message());
  std::abort();
}

// A refusal has a printable message.
inline void require_told() {
  const std::string_view told = message();
  require(!told.empty(), "a refusal has a message");
  require(printable(told) == told, "a message is printable");
}

}  // namespace stretto
