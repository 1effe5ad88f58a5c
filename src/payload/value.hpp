// One segment of one block on one rank: which forms of it are at hand.
#pragma once

#include <cstddef>

#include "codec/codec.hpp"
#include "payload/pool.hpp"

namespace stretto::payload {

// A compressed stream somewhere in a pool's buffer; shared, never changed once made.
struct Stream {
  Buffer buffer;
  std::size_t offset = 0;
  std::size_t size = 0;

  explicit operator bool() const noexcept { return size != 0; }
  codec::Bytes bytes() const noexcept { return {buffer.data() + offset, size}; }
};

// Any of the forms may be at hand, at most one of them was made first and the others say the same (a stream within its bound).
// None at all and not `absent`: nothing is known yet.
struct Value {
  const std::byte* raw = nullptr;  // the values; null: not at hand
  Buffer raw_store;                // keeps `raw` alive when it lies in a pool's buffer, which nobody writes any more
  bool raw_fixed = false;          // nobody writes the memory at `raw` while the run lasts
  Stream stream;
  Buffer codes;          // of `raw`, which an executor found before they were wanted
  bool settled = false;  // `raw` was decoded from a stream: compressing it again gives the same values
  bool absent = false;   // no contribution at all: the neutral element of a sum

  void clear() noexcept { *this = Value{}; }
};

}  // namespace stretto::payload
