#include "stack/images.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

namespace stretto::stacking {
namespace {

// A file of `bytes` bytes 0, 1, 2, ... that goes with the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::size_t bytes) {
    std::string data(bytes, '\0');
    std::iota(data.begin(), data.end(), '\0');
    write_file(path_, data.data(), data.size());
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  static int next() {
    static int n = 0;
    return n++;
  }
  std::string path_ =
      fmt::format("{}/stretto-images-{}-{}", std::filesystem::temp_directory_path().string(), ::getpid(), next());
};

std::string complaint(const auto& does) {
  try {
    does();
  } catch (const Problem& p) {
    return p.what();
  }
  return {};
}

TEST(Images, ShapesAreThreePositiveIntegers) {
  EXPECT_EQ(parse_shape("12,286,941"), (Shape{12, 286, 941}));
  for (const char* bad : {"", "12", "12,286", "12,286,", "12,286,941,1", "12x286x941", "0,1,1", "1,-2,3", "1,2,3 ",
                          " 1,2,3", "a,b,c", "1,2.5,3"}) {
    EXPECT_NE(complaint([&] { parse_shape(bad); }).find(fmt::format("\"{}\"", bad)), std::string::npos) << bad;
  }
}

TEST(Images, ShapesWhoseBytesOverflowAreRefused) {
  EXPECT_NE(complaint([] { parse_shape("4294967296,4294967296,4"); }), "");
  EXPECT_NE(complaint([] { parse_shape("99999999999999999999,1,1"); }), "");
  EXPECT_EQ(parse_shape("1,1048576,1048576").pixels(), std::uint64_t{1} << 40U);
}

TEST(Images, TypesHaveTwoNames) {
  EXPECT_EQ(parse_type("f32"), STRETTO_F32);
  EXPECT_EQ(parse_type("f64"), STRETTO_F64);
  EXPECT_NE(complaint([] { parse_type("f16"); }).find("f16"), std::string::npos);
}

TEST(Images, AFileOfTheRightLengthIsAccepted) {
  const TemporaryFile file(2 * 3 * 4 * 4);
  EXPECT_EQ(complaint([&] { check_file(file.path(), {2, 3, 4}, STRETTO_F32); }), "");
  EXPECT_EQ(complaint([&] { check_file(file.path(), {1, 3, 4}, STRETTO_F64); }), "");
}

TEST(Images, AShortOrLongFileIsRefusedNamingExpectedAndFound) {
  const TemporaryFile file(2 * 3 * 4 * 4 - 1);
  const std::string shorter = complaint([&] { check_file(file.path(), {2, 3, 4}, STRETTO_F32); });
  EXPECT_NE(shorter.find("95 bytes"), std::string::npos) << shorter;
  EXPECT_NE(shorter.find("96 bytes"), std::string::npos) << shorter;
  EXPECT_NE(shorter.find("1 are missing"), std::string::npos) << shorter;
  const std::string longer = complaint([&] { check_file(file.path(), {1, 3, 4}, STRETTO_F32); });
  EXPECT_NE(longer.find("47 too many"), std::string::npos) << longer;
  const std::string wider = complaint([&] { check_file(file.path(), {2, 3, 4}, STRETTO_F64); });
  EXPECT_NE(wider.find("192 bytes"), std::string::npos) << wider;
}

TEST(Images, WhatIsNoFileIsRefusedByName) {
  const std::string none = complaint([] { check_file("no/such/file.f32", {1, 1, 1}, STRETTO_F32); });
  EXPECT_NE(none.find("no/such/file.f32"), std::string::npos) << none;
  EXPECT_NE(none.find("No such file"), std::string::npos) << none;
  const std::string directory = complaint([] {
    check_file(std::filesystem::temp_directory_path().string(), {1, 1, 1}, STRETTO_F32);
  });
  EXPECT_NE(directory.find("not a regular file"), std::string::npos) << directory;
  EXPECT_NE(complaint([] { write_file("no/such/directory/stack.f32", "", 0); }).find("no/such/directory"),
            std::string::npos);
}

TEST(Images, ReadingAShareGivesItsBytes) {
  const TemporaryFile file(5 * 2 * 3 * 4);
  const std::vector<std::byte> two = read_images(file.path(), {5, 2, 3}, STRETTO_F32, 1, 2);
  ASSERT_EQ(two.size(), 48U);
  EXPECT_EQ(std::to_integer<int>(two.front()), 24);
  EXPECT_EQ(std::to_integer<int>(two.back()), 71);
  EXPECT_TRUE(read_images(file.path(), {5, 2, 3}, STRETTO_F32, 5, 0).empty());
  EXPECT_NE(complaint([&] { read_images(file.path(), {6, 2, 3}, STRETTO_F32, 5, 1); }), "");
}

TEST(Images, SharesCoverAllImagesOnceInOrderAndEvenly) {
  for (const std::uint64_t images : {0, 1, 2, 11, 12, 13, 100}) {
    for (const int ranks : {1, 2, 3, 5, 7, 12, 13, 64}) {
      std::uint64_t next = 0;
      std::set<std::uint64_t> sizes;
      for (int r = 0; r < ranks; ++r) {
        const Share s = share_of(images, ranks, r);
        ASSERT_EQ(s.first, next);
        next += s.count;
        sizes.insert(s.count);
      }
      ASSERT_EQ(next, images);
      ASSERT_LE(*sizes.rbegin() - *sizes.begin(), 1U);
    }
  }
}

TEST(Images, TilingRepeatsEachImageToWholeElements) {
  std::vector<std::byte> two(16);  // two images of two f32
  for (std::size_t i = 0; i < 16; ++i) two[i] = static_cast<std::byte>(i);
  const std::vector<std::byte> tiled = tile(two, 8, 22, 4);
  ASSERT_EQ(tiled.size(), 40U);  // twice 20 bytes: 22 is no whole number of f32
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(tiled[i], two[i % 8]);
    EXPECT_EQ(tiled[20 + i], two[8 + i % 8]);
  }
  EXPECT_EQ(tile(two, 8, 0, 4), two);
  EXPECT_EQ(tile(two, 8, 8, 4), two);
}

TEST(Images, HashDependsOnEveryBitAndOnTheLength) {
  std::string data(37, 'x');
  std::set<std::uint64_t> seen{hash(data.data(), data.size()), hash(data.data(), 36), hash(nullptr, 0)};
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = data;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      seen.insert(hash(other.data(), other.size()));
    }
  }
  EXPECT_EQ(seen.size(), 3U + 37 * 8);
  const std::string zeros(16, '\0');
  EXPECT_NE(hash(zeros.data(), 8), hash(zeros.data(), 16));
  EXPECT_NE(hash(zeros.data(), 3), hash(zeros.data(), 4));
}

}  // namespace
}  // namespace stretto::stacking
