// Status codes, and the per-thread message of a failure.
//
// One rule for errors in all of stretto. A function that can fail returns a Status. On failure it leaves a message
// naming the offending values, which message() reads on the same thread until the next failure there. Nothing throws
// across a public boundary, nothing aborts, nothing prints, but for a limit inside the MPI (modules/mpi/limit.hpp).
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace stretto {

// Same values as stretto_status in include/stretto/stretto.h; a static assertion there keeps them so.
// (clang-format 14 takes the body of an enum with an attribute for code.)
// clang-format off
enum class [[nodiscard]] Status : int {
  ok = 0,
  invalid_argument = 1,  // a null pointer, a negative count, an unsupported type
  invalid_bound = 2,  // not finite, not positive, or no grid can represent the bound
  buffer_too_small = 3,  // the output does not fit; nothing usable was written
  corrupt_stream = 4,  // not a stream, or a truncated or altered stream
  incompatible = 5,       // streams (or ranks) that differ in type, bound, count or operation
  overflow = 6,           // the exact result does not fit the widest code
  unsupported = 7,        // a legal request that this build or this operation does not offer
  out_of_memory = 8,
  timeout = 9,            // a wait ended in a diagnosis
  mpi_error = 10,         // the MPI, or UCX, returned an error; a rank that has ended
  internal = 11,          // a broken invariant of stretto itself; please report it
};
// clang-format on

// Short name of a status, e.g. "invalid_bound".
const char* name(Status s) noexcept;

// The message of this thread's last failure; empty when there was none.
const char* message() noexcept;

// Stores `text`, made printable (base/printable.hpp), as this thread's message and returns `s`.
Status fail(Status s, std::string_view text) noexcept;

// fail() with formatted text. format_args instead of a parameter pack keeps the formatting code out of callers.
Status fail_with(Status s, fmt::string_view f, fmt::format_args args);

template <class... Args>
Status fail(Status s, fmt::format_string<Args...> f, Args&&... args) {
  return fail_with(s, f, fmt::make_format_args(args...));
}

}  // namespace stretto
