// A function that can fail returns a Status, and leaves a message naming the offending values, which message() reads on
// the same thread until the next failure there. A function that is not noexcept may throw std::bad_alloc. Nothing
// throws across a public boundary, aborts, or prints, except a limit inside the MPI (modules/mpi/limit.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace stretto {

// Values and meanings as in stretto_status. (clang-format 14 takes the body of an enum with an attribute for code.)
// clang-format off
enum class [[nodiscard]] Status : int {
  ok = 0,
  invalid_argument = 1,
  invalid_bound = 2,
  buffer_too_small = 3,
  corrupt_stream = 4,
  incompatible = 5,
  overflow = 6,
  unsupported = 7,
  out_of_memory = 8,
  timeout = 9,
  mpi_error = 10,
  internal = 11,
};
// clang-format on

const char* name(Status s) noexcept;

// This thread's last failure; "" if there was none.
const char* message() noexcept;

// Cuts `text` to fit, and ends it with a zero.
void copy_text(std::string_view text, std::span<char> to) noexcept;

// The last failure, by copy_text().
void copy_message(std::span<char> text) noexcept;

// Stores printable `text` as this thread's message, and returns `s`.
Status fail(Status s, std::string_view text) noexcept;

// Keeps the formatting code out of callers.
Status fail_with(Status s, fmt::string_view f, fmt::format_args args);

template <class... Args>
Status fail(Status s, fmt::format_string<Args...> f, Args&&... args) {
  return fail_with(s, f, fmt::make_format_args(args...));
}

}  // namespace stretto
