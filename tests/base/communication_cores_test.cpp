#include "base/progress/communication_cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

namespace stretto {
namespace {

int some_core() { return sched_getcpu(); }

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Has `steps` to do, one a drive.
struct Steps final : Driven {
  bool drive() noexcept override {
    if (left == 0) return false;
    core = sched_getcpu();
    by = std::this_thread::get_id();
    --left;
    return true;
  }
  bool idle() const noexcept override { return left == 0; }
  std::atomic<int> left{0};
  std::atomic<int> core{-1};
  std::atomic<std::thread::id> by{};
};

struct Attached {
  Steps steps;
  Attached() { CommunicationCores::mine().attach(steps); }
  ~Attached() {
    CommunicationCores::mine().detach(steps);
    EXPECT_EQ(CommunicationCores::mine().use({}), Status::ok);
  }
  void do_all(int n) {
    steps.left = n;
    CommunicationCores::mine().wake();
    while (steps.left > 0) std::this_thread::yield();
  }
};

TEST(CommunicationCores, DriveAttachedWorkOnTheNamedCore) {
  Attached a;
  const int core = some_core();
  ASSERT_EQ(CommunicationCores::mine().use({core}), Status::ok) << message();
  for (int i = 0; i < 100; ++i) {
    a.do_all(3);
    EXPECT_EQ(a.steps.core, core);
    EXPECT_NE(a.steps.by.load(), std::this_thread::get_id());
  }
  EXPECT_EQ(CommunicationCores::mine().used(), std::vector<int>{core});
}

TEST(CommunicationCores, SwitchOffAndOnWhileWorkIsInFlight) {
  Attached a;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(CommunicationCores::mine().use({some_core()}), Status::ok);
    a.steps.left = 1000;
    CommunicationCores::mine().wake();
    ASSERT_EQ(CommunicationCores::mine().use({}), Status::ok);
    while (a.steps.left > 0) CommunicationCores::mine().drive_here();
  }
}

TEST(CommunicationCores, HaveAThreadOnlyWhileWorkIsAttached) {
  std::thread([] {}).join();  // ThreadSanitizer begins a thread of its own beside the first
  const auto before = threads();
  ASSERT_EQ(CommunicationCores::mine().use({some_core()}), Status::ok);
  EXPECT_EQ(threads(), before);
  {
    Attached a;
    EXPECT_EQ(threads(), before + 1);
  }
  EXPECT_EQ(threads(), before);
}

TEST(CommunicationCores, UseNoCpuTimeWhileNothingIsInFlight) {
  Attached a;
  ASSERT_EQ(CommunicationCores::mine().use({some_core()}), Status::ok);
  a.do_all(10);
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  const double before = used();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(used() - before, 0.01);
}

TEST(CommunicationCores, RefuseMissingAndRepeatedCoresByNumber) {
  auto& cores = CommunicationCores::mine();
  const int here = some_core();
  EXPECT_EQ(cores.use({here, 8000}), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("core 8000"), std::string::npos) << message();
  EXPECT_EQ(cores.use({-1}), Status::invalid_argument);
  EXPECT_EQ(cores.use({9000000}), Status::invalid_argument);
  EXPECT_EQ(cores.use({here, here}), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("twice"), std::string::npos) << message();
  EXPECT_TRUE(cores.used().empty());
}

TEST(CommunicationCores, AreParsedAsNumbersAndRanges) {
  std::vector<int> found;
  EXPECT_EQ(parse_cores("", &found), Status::ok);
  EXPECT_TRUE(found.empty());
  EXPECT_EQ(parse_cores("3", &found), Status::ok);
  EXPECT_EQ(found, std::vector<int>{3});
  EXPECT_EQ(parse_cores("8-11,14", &found), Status::ok);
  EXPECT_EQ(found, (std::vector<int>{8, 9, 10, 11, 14}));
  for (const char* text : {"x", "1,", ",1", "1-", "3-1", "-1", "1 2", "99999999999", "1,,2", "0-99999999"}) {
    EXPECT_EQ(parse_cores(text, &found), Status::invalid_argument) << text;
    EXPECT_NE(std::string(message()).find(text), std::string::npos) << message();
  }
}

TEST(CommunicationCores, StayWithTheParentAfterAFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a child that begins a thread where its parent had several";
#endif
  Attached a;
  ASSERT_EQ(CommunicationCores::mine().use({some_core()}), Status::ok);
  a.do_all(3);
  const pid_t child = fork();
  if (child == 0) {
    const bool without = CommunicationCores::mine().used().empty() && threads() == 1;
    CommunicationCores::mine().detach(a.steps);
    CommunicationCores::mine().wake();
    _exit(without ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  a.do_all(3);
}

}  // namespace
}  // namespace stretto
