#include "mpi/settings.hpp"

#include <gtest/gtest.h>

#include <map>

#include "mpi/site.hpp"

using namespace stretto::mpi;

namespace {

Settings settings(const std::map<std::string, std::string>& values) {
  return read_settings([&](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  });
}

}  // namespace

TEST(Settings, AreExactAndQuietWhereNothingIsGiven) {
  const Settings s = settings({});
  EXPECT_TRUE(s.on);
  EXPECT_FALSE(s.bound);
  EXPECT_TRUE(s.rules.empty());
  EXPECT_FALSE(s.report);
  EXPECT_FALSE(s.reproducible);
  EXPECT_LT(s.timeout, 0);
  EXPECT_TRUE(s.complaints.empty());
}

TEST(Settings, AreReadFromTheEnvironment) {
  const Settings s = settings(
      {{"STRETTO", "0"}, {"STRETTO_BOUND", "rel:1e-4"}, {"STRETTO_REPORT", "out.json"}, {"STRETTO_TIMEOUT", "20"}});
  EXPECT_FALSE(s.on);
  EXPECT_EQ(s.bound->value, 1e-4);
  EXPECT_TRUE(s.report);
  EXPECT_EQ(s.report_file, "out.json");
  EXPECT_EQ(s.timeout, 20);
  EXPECT_TRUE(s.complaints.empty());
  EXPECT_TRUE(settings({{"STRETTO_REPRODUCIBLE", "1"}}).reproducible);
  EXPECT_FALSE(settings({{"STRETTO_REPRODUCIBLE", "0"}}).reproducible);
  EXPECT_FALSE(settings({{"STRETTO_REPORT", "0"}}).report);
  EXPECT_TRUE(settings({{"STRETTO_REPORT", "1"}}).report_file.empty());
}

TEST(Settings, ThatCannotBeReadAreNamedAndLeftOut) {
  const Settings s = settings({{"STRETTO", "off"},
                               {"STRETTO_BOUND", "1e-4"},
                               {"STRETTO_RULES", "/no/such/rules"},
                               {"STRETTO_REPRODUCIBLE", "yes"},
                               {"STRETTO_TIMEOUT", "soon"}});
  ASSERT_EQ(s.complaints.size(), 5u);
  const char* told[] = {"STRETTO: 'off'", "STRETTO_BOUND: '1e-4'", "STRETTO_RULES: '/no/such/rules'",
                        "STRETTO_REPRODUCIBLE: 'yes'", "STRETTO_TIMEOUT: 'soon'"};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(s.complaints[i].find(told[i]), 0u) << s.complaints[i];
  EXPECT_TRUE(s.on);
  EXPECT_FALSE(s.bound);
  EXPECT_LT(s.timeout, 0);
}

TEST(Settings, ThatDifferAreNamedWithTheLowestRankWhereTheyDo) {
  const Settings none = settings({}), bound = settings({{"STRETTO_BOUND", "abs:2"}}),
                 more = settings({{"STRETTO_BOUND", "abs:2.0"}, {"STRETTO", "0"}});
  EXPECT_EQ(difference({none.decisive, none.decisive}), "");
  EXPECT_EQ(difference({bound.decisive, none.decisive, none.decisive}),
            "STRETTO_BOUND is not set on rank 1 and 'abs:2' on rank 0");
  EXPECT_EQ(difference({bound.decisive, bound.decisive, more.decisive}),
            "STRETTO is '0' on rank 2 and not set on rank 0");
  EXPECT_EQ(
      difference({none.decisive, more.decisive, bound.decisive}),
      "STRETTO is '0' on rank 1 and not set on rank 0; STRETTO_BOUND is 'abs:2.0' on rank 1 and not set on rank 0");
}

TEST(Settings, ThatCannotBeReadAreAlikeWhereverTheyAreLeftOut) {
  const Settings none = settings({}), bad = settings({{"STRETTO_BOUND", "much"}, {"STRETTO_RULES", "/no/such/rules"}});
  EXPECT_EQ(difference({none.decisive, bad.decisive}), "");
}

TEST(Sites, AreNamedByObjectAndFunction) {
  const std::string here = name_of_site(reinterpret_cast<const void*>(&name_of_site));
  EXPECT_EQ(here.find("mpi_settings_test:"), 0u) << here;
  EXPECT_EQ(name_of_site(nullptr), "?");
}
