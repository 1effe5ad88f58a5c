#include "api/creation/share.hpp"
#include "base/guarded.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace stretto::api {

Status share_text(backend::Transport& transport, std::string_view given, std::string* text) noexcept {
  std::uint64_t all = given.size();
  Status passed = transport.broadcast(&all, sizeof all);
  const bool room = attempt([&] {
    text->clear();
    text->reserve(all);
  });
  std::array<char, 8192> piece;
  for (std::size_t done = 0; done < all;) {
    const std::size_t n = std::min<std::size_t>(piece.size(), all - done);
    if (transport.rank() == 0) std::copy_n(given.begin() + static_cast<std::ptrdiff_t>(done), n, piece.begin());
    if (const Status s = transport.broadcast(piece.data(), n); passed == Status::ok) passed = s;
    if (room) text->append(piece.data(), n);
    done += n;
  }
  if (passed != Status::ok) return passed;
  return room ? Status::ok : fail(Status::out_of_memory, "no memory for {} bytes that rank 0 shares", all);
}

}  // namespace stretto::api
