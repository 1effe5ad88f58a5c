#include "base/status.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text/printable.hpp"

namespace stretto {
namespace {
// Fixed: errors must not allocate.
thread_local std::array<char, 512> last{};
}  // namespace

const char* name(Status s) noexcept {
  switch (s) {
    case Status::ok: return "ok";
    case Status::invalid_argument: return "invalid_argument";
    case Status::invalid_bound: return "invalid_bound";
    case Status::buffer_too_small: return "buffer_too_small";
    case Status::corrupt_stream: return "corrupt_stream";
    case Status::incompatible: return "incompatible";
    case Status::overflow: return "overflow";
    case Status::unsupported: return "unsupported";
    case Status::out_of_memory: return "out_of_memory";
    case Status::timeout: return "timeout";
    case Status::mpi_error: return "mpi_error";
    case Status::internal: return "internal";
  }
  return "unknown";
}

const char* message() noexcept { return last.data(); }

void copy_text(std::string_view text, std::span<char> to) noexcept {
  if (to.empty()) return;
  const std::size_t n = std::min(text.size(), to.size() - 1);
  std::copy_n(text.data(), n, to.data());
  to[n] = 0;
}

void copy_message(std::span<char> text) noexcept { copy_text(message(), text); }

Status fail(Status s, std::string_view text) noexcept {
  last[printable(text, last.data(), last.size() - 1)] = 0;
  return s;
}

Status fail_with(Status s, fmt::string_view f, fmt::format_args args) {
  char text[512];  // as long as a stored message; allocates nothing
  const auto all = fmt::vformat_to_n(text, sizeof text, f, args);
  return fail(s, std::string_view(text, all.size < sizeof text ? all.size : sizeof text));
}

}  // namespace stretto
