#pragma once

#include <cstddef>

#include "codec/codec.hpp"
#include "payload/pool.hpp"

namespace stretto::payload {

struct Stream {
  Buffer buffer;
  std::size_t offset = 0;
  std::size_t size = 0;

  explicit operator bool() const noexcept { return size != 0; }
  codec::Bytes bytes() const noexcept { return {buffer.data() + offset, size}; }
};

// A segment of a block, in one or several forms. Without any, and not `absent`, nothing is known yet.
struct Value {
  const std::byte* raw = nullptr;
  Buffer raw_store;        // keeps `raw`, which nobody writes any more
  bool raw_fixed = false;  // `raw` is not written during the run
  Stream stream;
  Buffer codes;
  bool settled = false;  // decoded: compressing again gives the same values
  bool absent = false;   // neutral element of a sum

  void clear() noexcept { *this = Value{}; }
};

}  // namespace stretto::payload
