// Turns exceptions for lack of memory or threads into values.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include "base/status.hpp"

namespace stretto {

// As "for a list of cores" or "to list {} messages", with the number. Borrows the text.
class Purpose {
 public:
  constexpr Purpose(const char* text) noexcept : text_(text) {}  // NOLINT: literals convert
  template <std::integral Number>
  Purpose(fmt::format_string<const std::uint64_t&> text, Number number) noexcept
      : text_(text), number_(static_cast<std::uint64_t>(number)), is_format_(true) {}

  // out_of_memory: "no memory " and the text.
  Status fail() const noexcept;

  // Inside a catch block: fail(), or for exceptions other than missing memory or threads `internal`, with their text.
  Status fail_caught() const noexcept;

 private:
  fmt::string_view text_;
  std::uint64_t number_ = 0;
  bool is_format_ = false;
};

// Returns the Status of `work` (void: ok), or Purpose::fail_caught().
template <class Work>
Status guarded(const Purpose& purpose, Work&& work) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      work();
      return Status::ok;
    } else {
      return work();
    }
  } catch (...) {
    return purpose.fail_caught();
  }
}

// False: `work` threw, and its caller continues without the result.
template <class Work>
[[nodiscard]] bool attempt(Work&& work) noexcept {
  try {
    work();
    return true;
  } catch (...) {
    return false;
  }
}

template <class T, class Work>
[[nodiscard]] T value_or(T instead, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return instead;
  }
}

}  // namespace stretto
