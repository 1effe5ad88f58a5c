// The header's promise "No allocation" for functions on streams: on success and on failure.
#include "../../allocations.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "stretto/stretto_stream.h"

namespace {

constexpr std::size_t kN = 10000;

template <class F>
void expect_none(const char* what, stretto_status wanted, F f) {
  stretto_status s = STRETTO_OK;
  EXPECT_EQ(allocations_of([&] { s = f(); }), 0u) << what;
  EXPECT_EQ(s, wanted) << what << ": " << stretto_message();
}

TEST(StreamsAllocation, IsNone) {
  std::vector<float> x(kN), y(kN);
  for (std::size_t i = 0; i < kN; ++i) x[i] = static_cast<float>(i % 711) * 0.01F;
  std::vector<unsigned char> a(stretto_compress_bound(STRETTO_F32, kN)),
      out(2 * stretto_combine_bound(STRETTO_F32, kN));
  std::size_t length = 0, written = 0;
  const auto compressed = [&] {
    return stretto_compress(STRETTO_F32, x.data(), kN, 1e-3, a.data(), a.size(), &length, STRETTO_CHECKSUM);
  };
  expect_none("compress", STRETTO_OK, compressed);  // the first call of all
  for (const std::size_t room : {out.size(), length / 2}) {
    const stretto_status wanted = room == out.size() ? STRETTO_OK : STRETTO_BUFFER_TOO_SMALL;
    for (const auto combine : {stretto_stream_add, stretto_stream_subtract, stretto_stream_min, stretto_stream_max})
      expect_none("combine", room == out.size() || combine != stretto_stream_subtract ? wanted : STRETTO_OK,
                  [&] { return combine(a.data(), length, a.data(), length, out.data(), room, &written, 0); });
    expect_none("add_values", wanted, [&] {
      return stretto_stream_add_values(a.data(), length, x.data(), kN, out.data(), room, &written, STRETTO_CHECKSUM);
    });
    expect_none("scale", wanted,
                [&] { return stretto_stream_scale(a.data(), length, 3, out.data(), room, &written, 0); });
    expect_none("slice", wanted,
                [&] { return stretto_stream_slice(a.data(), length, 77, kN - 99, out.data(), room, &written, 0); });
    expect_none("concatenate", wanted, [&] {
      return stretto_stream_concatenate(a.data(), length, a.data(), length, out.data(), room, &written, 0);
    });
  }
  stretto_stream_info info;
  double lo = 0, hi = 0;
  for (const std::size_t bytes : {length, length / 2}) {
    const stretto_status wanted = bytes == length ? STRETTO_OK : STRETTO_CORRUPT_STREAM;
    expect_none("inspect", wanted, [&] { return stretto_inspect(a.data(), bytes, &info); });
    expect_none("validate", wanted, [&] { return stretto_validate(a.data(), bytes); });
    expect_none("decompress", wanted, [&] { return stretto_decompress(a.data(), bytes, y.data(), kN, 1); });
    expect_none("decompress_slice", wanted,
                [&] { return stretto_decompress_slice(a.data(), bytes, 5, 7, y.data(), 2); });
  }
  ASSERT_EQ(stretto_use_threads(3), STRETTO_OK);
  expect_none("compress, too short for threads", STRETTO_OK, compressed);
  ASSERT_EQ(stretto_use_threads(1), STRETTO_OK);
  expect_none("value_range", STRETTO_OK, [&] { return stretto_value_range(STRETTO_F32, x.data(), kN, &lo, &hi); });
}

}  // namespace
