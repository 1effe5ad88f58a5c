#include "carrier/watchdog.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <string>
#include <thread>

namespace stretto::carrier {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kBrief = 0.1;  // seconds

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

struct Report {
  std::string call;
  double limit;
  bool takes_signals;
};

// Reports the first late call.
class Reported {
 public:
  LateHandler late() {
    return [this](const char* call, double limit) {
      sigset_t blocked;
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      if (++count_ == 1) report_.set_value({call, limit, sigismember(&blocked, SIGTERM) == 0});
    };
  }
  Report get() { return report_.get_future().get(); }
  int count() const { return count_; }

 private:
  std::promise<Report> report_;
  std::atomic<int> count_{0};
};

TEST(Watchdog, ReportsALateCallFromAThreadWithoutSignals) {
  Reported reported;
  Watchdog watchdog(reported.late());
  const Limited limited(&watchdog, "barrier", kBrief);
  const Report report = reported.get();
  EXPECT_EQ(report.call, "barrier");
  EXPECT_EQ(report.limit, kBrief);
  EXPECT_FALSE(report.takes_signals);
}

TEST(Watchdog, ReportsEachLateCallOnce) {
  Reported reported, other;
  Watchdog watchdog(reported.late()), beside(other.late());
  watchdog.begin("bcast", kBrief);
  reported.get();
  const Limited limited(&beside, "gather", kBrief);
  other.get();  // by then the thread has checked both again
  EXPECT_EQ(reported.count(), 1);
  watchdog.end();
  watchdog.begin("bcast", kBrief);
  while (reported.count() < 2) std::this_thread::yield();
  watchdog.end();
}

// Together they last longer than the limit.
TEST(Watchdog, ReportsNoShortCallOfMany) {
  Reported reported, other;
  Watchdog watchdog(reported.late()), beside(other.late());
  const double limit = 1;
  std::atomic<bool> over{false};
  std::thread long_call([&] {
    const Limited limited(&beside, "gather", 2 * limit);
    other.get();
    over = true;
  });
  Clock::duration longest{};
  while (!over) {
    const Clock::time_point begun = Clock::now();
    const Limited limited(&watchdog, "bcast", limit);
    std::this_thread::yield();
    longest = std::max(longest, Clock::now() - begun);
  }
  long_call.join();
  if (longest < std::chrono::seconds(1)) {  // else this thread got no core for so long
    EXPECT_EQ(reported.count(), 0);
  }
}

TEST(Watchdog, UsesTheLastSetting) {
  Reported first, second;
  Watchdog watchdog(first.late());
  watchdog.set_late(second.late());
  const Limited limited(&watchdog, "barrier", kBrief);
  EXPECT_EQ(second.get().call, "barrier");
  EXPECT_EQ(first.count(), 0);
}

TEST(Watchdog, HasAThreadOnlyWhileAnOwnerSetsALimit) {
  std::thread([] {}).join();  // ThreadSanitizer begins a thread of its own beside the first
  const auto before = threads();
  Watchdog without(LateHandler{});
  { const Limited limited(&without, "barrier", -1); }
  { const Limited limited(nullptr, "barrier", 1); }
  EXPECT_EQ(threads(), before);
  for (int i = 0; i < 3; ++i) {
    Watchdog one(LateHandler{}), two(LateHandler{});
    { const Limited limited(&one, "barrier", 60); }
    { const Limited limited(&two, "barrier", 60); }
    EXPECT_EQ(threads(), before + 1);
  }
  EXPECT_EQ(threads(), before);
}

TEST(Watchdog, LeavesForkedChildrenAlone) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a child that begins a thread where its parent had several";
#endif
  Reported reported, first;
  Watchdog watchdog(reported.late()), beside(first.late());
  beside.begin("bcast", kBrief);
  EXPECT_EQ(first.get().call,
            "bcast");  // the thread has begun: AddressSanitizer's allocator survives no fork while a thread begins
  watchdog.begin("barrier", kBrief);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 3; ++i) {
      Watchdog own(LateHandler{});
      const Limited limited(&own, "barrier", 60);
      std::this_thread::sleep_for(
          std::chrono::milliseconds(50));  // so that the thread most likely waits when it is told to end
    }
    watchdog.~Watchdog();
    _exit(threads() == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reported.get().call, "barrier");
  watchdog.end();
  beside.end();
}

}  // namespace
}  // namespace stretto::carrier
