// The filter's callback on chunks in malloc memory: values come back, and arbitrary bytes give an error or values,
// never an access outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "hdf5.hpp"
#include "stretto/stretto_stream.h"

extern "C" const void* H5PLget_plugin_info();
extern "C" int H5PLget_plugin_type();

namespace stretto::hdf5 {
namespace {

enum Kind : unsigned { lossless, absolute, relative };

const FilterClass& filter() { return *static_cast<const FilterClass*>(H5PLget_plugin_info()); }

std::vector<unsigned> settings(Kind kind, double bound, unsigned type, std::uint64_t values) {
  const auto bits = std::bit_cast<std::uint64_t>(bound);
  return {kind, static_cast<unsigned>(bits),   static_cast<unsigned>(bits >> 32),
          type, static_cast<unsigned>(values), static_cast<unsigned>(values >> 32)};
}

// A chunk, or its stream, in malloc memory, as HDF5 passes it.
class Chunk {
 public:
  explicit Chunk(const std::vector<std::uint8_t>& content) : bytes_(content.size()), capacity_(content.size()) {
    buffer_ = std::malloc(capacity_ ? capacity_ : 1);
    if (bytes_) std::memcpy(buffer_, content.data(), bytes_);
  }
  ~Chunk() { std::free(buffer_); }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  bool pass(unsigned flags, const std::vector<unsigned>& told) {
    const std::size_t made = filter().filter(flags, told.size(), told.data(), bytes_, &capacity_, &buffer_);
    if (made) bytes_ = made;
    return made != 0;
  }
  std::vector<std::uint8_t> content() const {
    const auto* begin = static_cast<const std::uint8_t*>(buffer_);
    return {begin, begin + bytes_};
  }

 private:
  void* buffer_;
  std::size_t bytes_, capacity_;
};

template <class Value>
std::vector<std::uint8_t> bytes_of(const std::vector<Value>& values) {
  std::vector<std::uint8_t> out(values.size() * sizeof(Value));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::vector<float> wave(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(100 * std::sin(static_cast<double>(i) / 30));
  return x;
}

// This program has no HDF5 whose functions are seen, as one that is linked statically has none.
TEST(Hdf5Filter, ErrorsArePrintedWhereHdf5ShowsNoFunctions) {
  testing::internal::CaptureStderr();
  EXPECT_LT(filter().set_local(1, 2, 3), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("HDF5 linked statically"), std::string::npos);
}

TEST(Hdf5Filter, SaysWhatHdf5AsksFor) {
  EXPECT_EQ(H5PLget_plugin_type(), kPluginOfFilters);
  EXPECT_EQ(filter().version, kClassVersion);
  EXPECT_GE(filter().id, 256);
  EXPECT_LE(filter().id, 511);
}

TEST(Hdf5Filter, ChunksKeepTheirBound) {
  const auto x = wave(5000);
  for (const auto& told :
       {settings(absolute, 0.01, STRETTO_F32, x.size()), settings(relative, 5e-5, STRETTO_F32, x.size())}) {
    Chunk chunk(bytes_of(x));
    ASSERT_TRUE(chunk.pass(0, told));
    EXPECT_LT(chunk.content().size(), x.size() * sizeof(float) / 2);
    ASSERT_TRUE(chunk.pass(kReverse, told));
    const auto back = chunk.content();
    ASSERT_EQ(back.size(), x.size() * sizeof(float));
    for (std::size_t i = 0; i < x.size(); ++i) {
      float y;
      std::memcpy(&y, back.data() + i * sizeof y, sizeof y);
      EXPECT_LE(std::fabs(double{y} - double{x[i]}), 0.01);
    }
  }
}

TEST(Hdf5Filter, AnyBitsComeBackWithoutABound) {
  std::mt19937 random(7);
  std::vector<std::uint8_t> bits(4096);
  for (auto& one : bits) one = static_cast<std::uint8_t>(random());
  for (const auto type : {STRETTO_I8, STRETTO_U8, STRETTO_I16, STRETTO_U16, STRETTO_F16, STRETTO_BF16, STRETTO_I32,
                          STRETTO_F32, STRETTO_I64, STRETTO_F64}) {
    const auto told = settings(lossless, 0, type, bits.size() / stretto_type_size(type));
    Chunk chunk(bits);
    ASSERT_TRUE(chunk.pass(0, told)) << type;
    ASSERT_TRUE(chunk.pass(kReverse, told)) << type;
    EXPECT_EQ(chunk.content(), bits) << type;
  }
}

TEST(Hdf5Filter, RefusedChunksStayAsTheyAre) {
  const auto x = bytes_of(wave(100));
  Chunk chunk(x);
  for (const auto& told : {settings(absolute, 0.01, STRETTO_F32, 99), settings(absolute, 0.01, STRETTO_F64, 100),
                           settings(absolute, -1, STRETTO_F32, 100), settings(relative, NAN, STRETTO_F32, 100),
                           settings(static_cast<Kind>(3), 1, STRETTO_F32, 100), settings(absolute, 1, 99, 100),
                           std::vector<unsigned>{1, 0, 0}, std::vector<unsigned>{}}) {
    EXPECT_FALSE(chunk.pass(0, told));
    EXPECT_FALSE(chunk.pass(kReverse, told));
    EXPECT_EQ(chunk.content(), x);
  }
}

TEST(Hdf5Filter, BytesFromAnywhereGiveValuesOfTheChunkOrAnError) {
  const std::size_t n = 3000;
  std::mt19937 random(11);
  for (const auto type : {STRETTO_F32, STRETTO_U8}) {
    const auto told = type == STRETTO_F32 ? settings(absolute, 0.5, type, n) : settings(lossless, 0, type, n);
    std::vector<std::uint8_t> values = bytes_of(wave(n));
    values.resize(n * stretto_type_size(type));
    Chunk chunk(values);
    ASSERT_TRUE(chunk.pass(0, told));
    auto stream = chunk.content();
    std::memset(stream.data() + 36, 0, 4);  // without a checksum
    stream[6] = 0;
    for (int round = 0; round < 3000; ++round) {
      auto damaged = stream;
      for (unsigned i = 0, flips = 1 + random() % 3; i < flips; ++i)
        damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
      if (round % 5 == 0) damaged.resize(random() % (damaged.size() + 1));
      Chunk back(damaged);
      if (back.pass(kReverse, told)) {
        EXPECT_EQ(back.content().size(), values.size());
      }
    }
  }
}

TEST(Hdf5Filter, RepeatedErrorsPrintFewLines) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) filter().set_local(1, 2, 3);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 8);
}

}  // namespace
}  // namespace stretto::hdf5
