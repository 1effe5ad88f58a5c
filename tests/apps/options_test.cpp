#include "job/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stretto::stacking {
namespace {

// True if the words are accepted; *o has the options.
bool parse(std::vector<std::string> words, Options* o, int* code) {
  words.insert(words.begin(), "stacking");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  return parse_options(static_cast<int>(argv.size()), argv.data(), false, o, code);
}

TEST(StackingOptions, DefaultsMigrateShotsAndRunEveryPayload) {
  Options o;
  int code = -1;
  ASSERT_TRUE(parse({}, &o, &code));
  EXPECT_TRUE(o.file.empty());
  EXPECT_EQ(o.payloads.size(), 5U);
  EXPECT_EQ(o.schedules.front(), "ring");
  EXPECT_TRUE(o.bound.relative);
}

TEST(StackingOptions, AStackIsAnImageOrATileOfWholeValues) {
  Options o;
  int code = -1;
  ASSERT_TRUE(parse({"--depth", "100", "--width", "70"}, &o, &code));
  EXPECT_EQ(values_of(o), 7000U);
  ASSERT_TRUE(parse({"--images", "a.f64", "--shape", "2,4,5", "--type", "f64", "--tile", "1003"}, &o, &code));
  EXPECT_EQ(values_of(o), 125U);
  ASSERT_TRUE(parse({"--images", "a.f32", "--shape", "2,4,5", "--tile", "8"}, &o, &code));
  EXPECT_EQ(values_of(o), 20U);
}

TEST(StackingOptions, WhatIsMoreThanMpiTakesIsRefused) {
  Options o;
  int code = -1;
  EXPECT_TRUE(parse({"--images", "a.f32", "--shape", "1,1,2147483647"}, &o, &code));
  EXPECT_FALSE(parse({"--images", "a.f32", "--shape", "1,2,1073741824"}, &o, &code));
  EXPECT_EQ(code, 2);
  EXPECT_TRUE(parse({"--tile", "8589934588"}, &o, &code));
  EXPECT_FALSE(parse({"--tile", "8589934592"}, &o, &code));
  EXPECT_FALSE(parse({"--tile", "-1"}, &o, &code));
}

TEST(StackingOptions, ATypeIsThatOfImagesThatAreNamed) {
  Options o;
  int code = -1;
  EXPECT_FALSE(parse({"--type", "f64"}, &o, &code));
  EXPECT_FALSE(parse({"--images", "", "--shape", "1,2,3"}, &o, &code));
}

TEST(StackingOptions, AUsersOwnFileHasAShapeATypeAndABound) {
  Options o;
  int code = -1;
  ASSERT_TRUE(parse({"--images", "a.f64", "--shape", "3,4,5", "--type", "f64", "--bound", "abs:0.5", "--payloads",
                     "raw,fused", "--schedules", "ring,tree", "--tile", "2KB"},
                    &o, &code));
  EXPECT_EQ(o.shape, (Shape{3, 4, 5}));
  EXPECT_EQ(o.type, STRETTO_F64);
  EXPECT_FALSE(o.bound.relative);
  EXPECT_EQ(o.bound.value, 0.5);
  ASSERT_EQ(o.payloads.size(), 2U);
  EXPECT_EQ(o.payloads[1].kind, STRETTO_PAYLOAD_FUSED);
  EXPECT_EQ(o.schedules, (std::vector<std::string>{"ring", "tree"}));
  EXPECT_EQ(o.tile, 2000U);
}

TEST(StackingOptions, WhatCannotBeMeantIsRefusedWithStatusTwo) {
  const std::vector<std::vector<std::string>> bad{{"--images", "a.f32"},
                                                  {"--shape", "1,2,3"},
                                                  {"--bound", "1e-4"},
                                                  {"--bound", "rel:0"},
                                                  {"--bound", "rel:-1"},
                                                  {"--bound", "abs:nan"},
                                                  {"--bound", "abs:inf"},
                                                  {"--bound", "rel:1e-4x"},
                                                  {"--bound", ""},
                                                  {"--payloads", "zip"},
                                                  {"--shots", "0"},
                                                  {"--repeat", "0"},
                                                  {"--type", "i32"},
                                                  {"--nonsense"},
                                                  {"--images", "a", "--shape", "1,2"},
                                                  {"--images", "a", "--shape", "1,2,3", "--shots", "4"}};
  for (const auto& words : bad) {
    Options o;
    int code = -1;
    EXPECT_FALSE(parse(words, &o, &code)) << words.front() << ' ' << words.back();
    EXPECT_EQ(code, 2) << words.front() << ' ' << words.back();
  }
}

TEST(StackingOptions, HelpEndsWell) {
  Options o;
  int code = -1;
  EXPECT_FALSE(parse({"--help"}, &o, &code));
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace stretto::stacking
