// Eight 16-bit words. together: those of a mask move to the front. apart: the first move to its places. Others
// become 0.
#pragma once

#include <cstdint>

namespace stretto::codec::dense {

struct Shuffles {
  alignas(16) std::uint8_t together[256][16], apart[256][16];
};

constexpr Shuffles make_shuffles() noexcept {
  Shuffles s{};
  for (int mask = 0; mask < 256; ++mask) {
    int n = 0;
    for (int i = 0; i < 8; ++i) {
      s.apart[mask][2 * i] = s.apart[mask][2 * i + 1] = 128;
      s.together[mask][2 * i] = s.together[mask][2 * i + 1] = 128;
    }
    for (int i = 0; i < 8; ++i) {
      if (!(mask >> i & 1)) continue;
      for (int byte = 0; byte < 2; ++byte) {
        s.apart[mask][2 * i + byte] = static_cast<std::uint8_t>(2 * n + byte);
        s.together[mask][2 * n + byte] = static_cast<std::uint8_t>(2 * i + byte);
      }
      ++n;
    }
  }
  return s;
}

}  // namespace stretto::codec::dense
