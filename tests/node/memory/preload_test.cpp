// libstretto_arena.so in programs that were started in an unusual way.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace {

struct Outcome {
  int status = -1;
  std::string errors;
};

// The test's program with the allocator preloaded, and with these settings, argument and redirections, as a shell has
// them.
Outcome run(const std::string& settings, const std::string& rest) {
  const std::string command = "exec 2>&1; " + settings + " LD_PRELOAD=" ARENA_LIBRARY " exec " ARENA_PROGRAM " " + rest;
  Outcome o;
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return o;
  for (int c; (c = std::fgetc(output)) != EOF;) o.errors += static_cast<char>(c);
  o.status = pclose(output);
  return o;
}

int occurrences(const std::string& text, const std::string& of) {
  int n = 0;
  for (auto at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++n;
  return n;
}

TEST(Preload, ProgramsDescriptorIsNotMistakenForTheArenas) {
  for (const char* streams : {">/dev/null", ">&-", "<&- >&-"}) {
    const Outcome o = run("STRETTO_ARENA_SIZE=512M", std::string("guest ") + streams);
    EXPECT_EQ(o.status, 0) << streams << ": " << o.errors;
  }
}

TEST(Preload, UnreadableSettingIsReportedOnceAndIgnored) {
  const Outcome o = run("STRETTO_ARENA_SIZE=1.5G STRETTO_ARENA_MIN=64KiB", "");
  EXPECT_EQ(o.status, 0) << "large allocations do not lie in the arena, or small ones do";
  EXPECT_EQ(occurrences(o.errors, "stretto arena: STRETTO_ARENA_SIZE: '1.5G' is no number of bytes"), 1) << o.errors;
  EXPECT_EQ(occurrences(o.errors, "stretto arena: STRETTO_ARENA_MIN: '64KiB' is no number of bytes"), 1) << o.errors;
}

TEST(Preload, BothSettingsAcceptSuffixes) {
  const Outcome o = run("STRETTO_ARENA_SIZE=512M STRETTO_ARENA_MIN=256K STRETTO_ARENA_REPORT=1", "");
  EXPECT_EQ(o.status, 0) << o.errors;
  EXPECT_NE(o.errors.find("of 536870912\n"), std::string::npos) << o.errors;
  EXPECT_EQ(o.errors.find("no number of bytes"), std::string::npos) << o.errors;
}

}  // namespace
