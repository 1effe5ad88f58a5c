// A function that can fail returns a Status, and leaves a message naming the offending values, which message() reads on
// the same thread until the next failure there. A function that is not noexcept may throw std::bad_alloc. Nothing
// throws across a public boundary, aborts, or prints, except a limit inside the MPI (modules/mpi/limit.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace stretto {

// Values as in stretto_status. (clang-format 14 takes the body of an enum with an attribute for code.)
// clang-format off
enum class [[nodiscard]] Status : int {
  ok = 0,
  invalid_argument = 1,  // null pointer, negative count, unsupported type
  invalid_bound = 2,     // not finite, not positive, or beyond any grid
  buffer_too_small = 3,  // nothing usable was written
  corrupt_stream = 4,    // no stream, or truncated or altered
  incompatible = 5,      // streams (or ranks) differ in type, bound, count or operation
  overflow = 6,          // the exact result exceeds the widest code
  unsupported = 7,       // a legal request that this build or operation lacks
  out_of_memory = 8,
  timeout = 9,     // a wait ended in a diagnosis
  mpi_error = 10,  // an error of the MPI or UCX; a rank that has ended
  internal = 11,   // a broken invariant of stretto; please report it
};
// clang-format on

const char* name(Status s) noexcept;

// This thread's last failure; "" if there was none.
const char* message() noexcept;

// Cuts `text` to fit, and ends it with a zero.
void copy_text(std::string_view text, std::span<char> to) noexcept;

// The last failure, by copy_text().
void copy_message(std::span<char> text) noexcept;

// Stores printable `text` (base/text/printable.hpp) as this thread's message, and returns `s`.
Status fail(Status s, std::string_view text) noexcept;

// Keeps the formatting code out of callers.
Status fail_with(Status s, fmt::string_view f, fmt::format_args args);

template <class... Args>
Status fail(Status s, fmt::format_string<Args...> f, Args&&... args) {
  return fail_with(s, f, fmt::make_format_args(args...));
}

}  // namespace stretto
