#include "mpi/settings/settings.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>

#include "mpi/settings/call_site.hpp"
#include "mpi/settings/variables.hpp"

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
  EXPECT_EQ(s.ignore_above, 0);
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
  EXPECT_EQ(settings({{"STRETTO_IGNORE_ABOVE", "1e10"}}).ignore_above, 1e10);
  EXPECT_EQ(settings({{"STRETTO_IGNORE_ABOVE", "inf"}}).ignore_above, INFINITY);
  EXPECT_TRUE(settings({{"STRETTO_REPRODUCIBLE", "1"}}).reproducible);
  EXPECT_FALSE(settings({{"STRETTO_REPRODUCIBLE", "0"}}).reproducible);
  EXPECT_TRUE(settings({{"STRETTO_BOUND_MOVES", "1"}}).bounds_moves);
  EXPECT_FALSE(settings({{"STRETTO_BOUND_MOVES", "0"}}).bounds_moves);
  EXPECT_FALSE(settings({{"STRETTO_REPORT", "0"}}).report);
  for (const char* shown : {"1", "yes", "on", "true"}) {
    EXPECT_TRUE(settings({{"STRETTO_REPORT", shown}}).report) << shown;
    EXPECT_TRUE(settings({{"STRETTO_REPORT", shown}}).report_file.empty()) << shown;
  }
  EXPECT_TRUE(settings({{"STRETTO_BOUND", "rel:abc"}}).complaints.at(0).find("'abc' is no number") !=
              std::string::npos);
}

TEST(Settings, ThatCannotBeReadAreNamedAndLeftOut) {
  const Settings s = settings({{"STRETTO", "off"},
                               {"STRETTO_BOUND", "1e-4"},
                               {"STRETTO_IGNORE_ABOVE", "-1"},
                               {"STRETTO_RULES", "/no/such/rules"},
                               {"STRETTO_BOUND_MOVES", "all"},
                               {"STRETTO_REPRODUCIBLE", "yes"},
                               {"STRETTO_NODE", "maybe"},
                               {"STRETTO_TIMEOUT", "soon"}});
  ASSERT_EQ(s.complaints.size(), 8u);
  const char* told[] = {"STRETTO: 'off'",
                        "STRETTO_BOUND: '1e-4'",
                        "STRETTO_IGNORE_ABOVE: '-1' is neither a positive number nor inf",
                        "STRETTO_RULES: '/no/such/rules'",
                        "STRETTO_BOUND_MOVES: 'all'",
                        "STRETTO_REPRODUCIBLE: 'yes'",
                        "STRETTO_NODE: 'maybe'",
                        "STRETTO_TIMEOUT: 'soon'"};
  for (std::size_t i = 0; i < s.complaints.size(); ++i) {
    EXPECT_TRUE(s.complaints[i].starts_with(told[i])) << s.complaints[i];
    EXPECT_TRUE(s.complaints[i].ends_with("; it counts as not set")) << s.complaints[i];
  }
  EXPECT_TRUE(s.on);
  EXPECT_FALSE(s.bound);
  EXPECT_EQ(s.ignore_above, 0);
  EXPECT_LT(s.timeout, 0);
  for (const char* value : {"0", "nan", "1e15x", "-inf", "1e999", "none"}) {
    const Settings bad = settings({{"STRETTO_IGNORE_ABOVE", value}});
    EXPECT_EQ(bad.complaints.size(), 1u) << value;
    EXPECT_EQ(bad.ignore_above, 0) << value;
  }
}

TEST(Settings, ThatDifferAreNamedWithTheRankWhereTheyDo) {
  std::string all;
  add_difference({"STRETTO", "0", "", 2}, &all);
  EXPECT_EQ(all, "STRETTO is '0' on rank 2 and not set on rank 0");
  add_difference({"STRETTO_RULES", "/r", "/r", 1}, &all);
  EXPECT_EQ(all,
            "STRETTO is '0' on rank 2 and not set on rank 0; STRETTO_RULES is '/r', of other content, on rank 1 and "
            "'/r' on rank 0");
}

TEST(Settings, ThatMeanTheSameAreAlike) {
  const auto meanings = [](const Settings& s) {
    std::vector<std::string> all;
    for (const CommonSetting& d : s.common) all.push_back(d.variable + "=" + d.meaning);
    return all;
  };
  const Settings none = settings({}), bad = settings({{"STRETTO_BOUND", "much"}, {"STRETTO_RULES", "/no/such/rules"}});
  EXPECT_EQ(meanings(none), meanings(bad));
  const Settings bound = settings({{"STRETTO_BOUND", "abs:2"}}), same = settings({{"STRETTO_BOUND", "abs:2.0"}});
  EXPECT_EQ(meanings(bound), meanings(same));
  EXPECT_NE(meanings(bound), meanings(none));
  const Settings above = settings({{"STRETTO_IGNORE_ABOVE", "100"}}), too = settings({{"STRETTO_IGNORE_ABOVE", "1e2"}});
  EXPECT_EQ(meanings(above), meanings(too));
  EXPECT_NE(meanings(above), meanings(none));
}

TEST(Settings, RulesThatAreNoRegularFileAreNamedWithWhatTheyAre) {
  const std::string fifo = testing::TempDir() + "settings_test.fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [file, what] :
       {std::pair<std::string, std::string>{"/", "a directory"}, {fifo, "a FIFO"}, {"/dev/zero", "a device"}}) {
    const Settings s = settings({{"STRETTO_RULES", file}});
    ASSERT_EQ(s.complaints.size(), 1u);
    EXPECT_EQ(s.complaints[0], "STRETTO_RULES: '" + file + "' is " + what + ", no regular file; it counts as not set");
  }
  unlink(fifo.c_str());
}

TEST(Settings, RulesThatCannotBeMeantAreNamedWithFileAndLine) {
  const std::string file = testing::TempDir() + "settings_test.rules";
  std::ofstream(file) << "* off\nallreduce schedule:rong\n";
  const ScheduleNames schedules = {"ring", "chain"};
  const Settings s = read_settings(
      [&](const char* name) { return std::string_view(name) == "STRETTO_RULES" ? file.c_str() : nullptr; }, &schedules);
  ASSERT_EQ(s.complaints.size(), 1u);
  EXPECT_EQ(s.complaints[0], "STRETTO_RULES: '" + file +
                                 "', line 2: 'rong' is no schedule; there are ring, chain; it counts as not set");
  unlink(file.c_str());
}

TEST(Settings, ARelativeBoundOfTheWholeRangeIsRemarkedAndHolds) {
  const std::string file = testing::TempDir() + "settings_test_range.rules";
  std::ofstream(file) << "allreduce rel:1e-4\nreduce rel:1.5:contribution\n";
  const Settings s = settings({{"STRETTO_BOUND", "rel:2"}, {"STRETTO_RULES", file}});
  ASSERT_EQ(s.complaints.size(), 2u);
  EXPECT_EQ(s.complaints[0],
            "STRETTO_BOUND: rel:2 allows errors of 2 times the whole range of the values; rel:1e-4 is usual");
  EXPECT_EQ(s.complaints[1],
            "STRETTO_RULES: '" + file +
                "', line 2: rel:1.5 allows errors of 1.5 times the whole range of the values; rel:1e-4 is usual");
  ASSERT_TRUE(s.bound);
  EXPECT_EQ(s.bound->value, 2);
  EXPECT_EQ(s.rules.size(), 2u);
  for (const char* bound : {"rel:0.99", "abs:2"}) EXPECT_TRUE(settings({{"STRETTO_BOUND", bound}}).complaints.empty());
  unlink(file.c_str());
}

TEST(Settings, ABoundWithUnreadableRulesIsLeftOut) {
  const Settings s = settings({{"STRETTO_BOUND", "rel:1e-4"}, {"STRETTO_RULES", "/no/such/rules"}});
  ASSERT_EQ(s.complaints.size(), 2u);
  EXPECT_EQ(s.complaints[1],
            "STRETTO_BOUND: a call that the unreadable rules keep exact would be bounded; it counts as not set");
  EXPECT_FALSE(s.bound);
  for (const CommonSetting& d : s.common)
    EXPECT_TRUE(d.meaning.empty() || d.variable != std::string_view("STRETTO_BOUND"));
}

TEST(Variables, WhoseNameIsASlipAwayFromOneOfOursAreNamedWithIt) {
  for (const auto& [name, meant] :
       std::map<std::string_view, std::string>{{"STRETTO_BONUD", "STRETTO_BOUND"},
                                               {"STRETTO_RULE", "STRETTO_RULES"},
                                               {"STRETTO_COMM_CORE", "STRETTO_COMM_CORES"},
                                               {"STRETTO_REPORTS", "STRETTO_REPORT"},
                                               {"STRETTO_REPRODUCABEL", "STRETTO_REPRODUCIBLE"}}) {
    EXPECT_NE(slip_in(name).find("is " + meant + " meant"), std::string::npos) << name << slip_in(name);
    EXPECT_EQ(slip_in(name).find(name), 0u) << slip_in(name);
  }
}

TEST(Variables, OfOursOrOfOthersAreNotTold) {
  for (const char* name : {"STRETTO", "STRETTO_BOUND", "STRETTO_WAIT", "STRETTO_ARENA_MIN", "STRETTO_HOME",
                           "STRETTO_ROOT", "STRETT_BOUND", "PATH"})
    EXPECT_EQ(slip_in(name), "") << name;
}

TEST(Sites, AreNamedByObjectAndFunction) {
  const std::string here = name_of_site(reinterpret_cast<const void*>(&name_of_site));
  EXPECT_EQ(here.find("mpi_settings_test:"), 0u) << here;
  EXPECT_EQ(name_of_site(nullptr), "?");
}
