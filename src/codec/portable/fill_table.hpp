// Byte shuffles by the set of missing words: each takes the previous present word.
#pragma once

#include <cstdint>

namespace stretto::codec {

struct FillTable {
  alignas(16) std::uint8_t row[256][16];
};

constexpr FillTable make_fill_table() noexcept {
  FillTable t{};
  for (int missing = 0; missing < 256; ++missing) {
    int from = -1;
    for (int i = 0; i < 8; ++i) {
      if (!(missing >> i & 1)) from = i;
      t.row[missing][2 * i] = static_cast<std::uint8_t>(from < 0 ? 128 : 2 * from);
      t.row[missing][2 * i + 1] = static_cast<std::uint8_t>(from < 0 ? 128 : 2 * from + 1);
    }
  }
  return t;
}

inline constexpr FillTable kFillTable = make_fill_table();

}  // namespace stretto::codec
