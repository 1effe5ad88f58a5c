// Copies are whole whatever their length and alignment, and write nothing else.
#include "node/memory/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace stretto::node;

namespace {

using Copy = void (*)(void*, const void*, std::size_t, Stores);

void expect_copies(Copy copy, Stores stores, std::size_t bytes, std::size_t from_at, std::size_t to_at) {
  std::vector<unsigned char> from(from_at + bytes), to(to_at + bytes + 64, 0xEE);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  copy(to.data() + to_at, from.data() + from_at, bytes, stores);
  const auto body = to.begin() + static_cast<std::ptrdiff_t>(to_at), end = body + static_cast<std::ptrdiff_t>(bytes);
  EXPECT_TRUE(std::equal(body, end, from.begin() + static_cast<std::ptrdiff_t>(from_at)));
  const auto untouched = [](unsigned char c) { return c == 0xEE; };
  EXPECT_TRUE(std::all_of(to.begin(), body, untouched) && std::all_of(end, to.end(), untouched));
}

}  // namespace

TEST(Kernels, CopiesAreWholeWhateverTheLengthAndAlignment) {
  for (const Copy copy_of : {Copy{copy}, Copy{copy_theirs}, Copy{copy_to_theirs}})
    for (const Stores stores : {Stores::plain, Stores::streaming})
      for (const std::size_t bytes : {0, 1, 63, 64, 255, 256, 257, 3071, 3072, 3135, 3136, 4099, 32768, 70001})
        for (const std::size_t from_at : {0, 1, 8, 60})
          for (const std::size_t to_at : {0, 1, 16, 63}) {
            SCOPED_TRACE(testing::Message()
                         << name(stores) << ' ' << bytes << " bytes from " << from_at << " to " << to_at);
            expect_copies(copy_of, stores, bytes, from_at, to_at);
          }
}
