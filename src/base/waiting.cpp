#include "base/waiting.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/peers.hpp"

namespace stretto {
namespace {

// Seconds:
constexpr double kAwake = 300e-6;    // before a sleep that an event ends
constexpr double kShortest = 50e-6;  // shortest sleep without a wake-up
constexpr double kShare = 1.0 / 50;  // a sleep's fraction of the time waited so far

// In mode spin, in which a yield may cost milliseconds.
constexpr double kBetweenYields = 10e-3;

// Linux's slices take 0.7 ms or more.
constexpr double kLongSlice = 0.4e-3;
constexpr unsigned kFew = 16;           // brief yields before a long one that is a sign
constexpr double kTogether = 20e-3;     // two signs within this time count
constexpr double kLeastWanted = 50e-3;  // the core is wanted this long after two signs,
constexpr double kMostWanted = 1;       // at most this long after many,
constexpr double kQuiet = 0.1;          // and the least again after this long without

std::atomic<std::uint64_t> slept{0};

struct CoreDemand {
  double sign = 0;
  double until = 0;
  double last = kLeastWanted;
  double looked = 0, ran = 0;  // the latest long yield that was a sign, and the thread's processor time then
  unsigned brief = 0;          // yields since the latest long one
  SchedulerSample sample;
  PeersWatch peers;

  // A program of the thread's own scheduling group (session, cgroup) gets the core by every few yields. Another group's
  // gets its share whatever this thread yields, and a sleep would only cost.
  bool gave_way(double yield) noexcept {
    if (yield > kLongSlice) return std::exchange(brief, 0) < kFew || !yields_make_way();
    ++brief;
    return false;
  }

  // Between two long looks the thread had its core for less than half of the time; in the rest the MPI was at work.
  bool was_away(double now) noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    const double had = static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    const bool away = now - looked <= kTogether && had - ran < (now - looked) / 2;
    looked = now;
    ran = had;
    return away;
  }

  void note(double now) noexcept {
    const bool second = now - sign <= kTogether;
    sign = now;
    if (peers.had_cores(peers_time()) || !second) return;
    last = now - until > kQuiet + last ? kLeastWanted : std::min(2 * last, kMostWanted);
    until = now + last;
  }
};

thread_local CoreDemand demand;
thread_local bool background = false;

long involuntary_switches() noexcept {
  rusage used{};
  return getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_nivcsw : 0;
}

// Seconds runnable without a core (schedstat's second number). Negative: unavailable. Takes 5 µs.
double queued_seconds() noexcept {
  const int saved = errno;
  std::array<char, 96> text{};
  const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text.data(), text.size() - 1);
  if (fd >= 0) close(fd);
  errno = saved;
  if (n <= 0) return -1;
  char* second = nullptr;
  static_cast<void>(std::strtoull(text.data(), &second, 10));
  char* end = nullptr;
  const auto ns = static_cast<double>(std::strtoull(second, &end, 10));
  return end == second ? -1 : 1e-9 * ns;
}

const char* given() noexcept {
  const char* const text = secure_getenv("STRETTO_WAIT");
  return text ? text : "";
}

}  // namespace

Status parse_wait_mode(std::string_view text, WaitMode* mode) noexcept {
  if (text.empty() || text == "auto")
    *mode = WaitMode::automatic;
  else if (text == "spin")
    *mode = WaitMode::spin;
  else if (text == "sleep")
    *mode = WaitMode::sleep;
  else
    return fail(Status::invalid_argument, "STRETTO_WAIT is '{}'; it takes auto, spin or sleep", text);
  return Status::ok;
}

WaitMode wait_mode() noexcept {
  static const WaitMode mode = [] {
    WaitMode read = WaitMode::automatic;
    return parse_wait_mode(given(), &read) == Status::ok ? read : WaitMode::automatic;
  }();
  return mode;
}

Status check_wait_mode() noexcept {
  WaitMode mode = WaitMode::automatic;
  return parse_wait_mode(given(), &mode);
}

void wait_in_background(bool is) noexcept { background = is; }

bool core_was_taken(const SchedulerSample& before, const SchedulerSample& after) noexcept {
  if (after.switches == before.switches) return false;
  if (before.queued < 0 || after.queued < 0) return true;
  return after.queued - before.queued > std::max(kLongSlice, (after.when - before.when) / 4);
}

double Waiting::clock() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

bool core_is_wanted() noexcept {
  switch (wait_mode()) {
    case WaitMode::spin: return false;
    case WaitMode::sleep: return true;
    case WaitMode::automatic: break;
  }
  return demand.until > 0 && Waiting::clock() < demand.until;
}

void Waiting::begin(double now) noexcept {
  began_ = yielded_ = now;
  if (wait_mode() != WaitMode::automatic) return;
  if (shares_) {
    demand.sample = {};
    return;
  }
  SchedulerSample sample{involuntary_switches(), 0, now};
  if (sample.switches == demand.sample.switches) return;
  sample.queued = queued_seconds();
  if (demand.sample.switches >= 0 && core_was_taken(demand.sample, sample)) demand.note(now);
  demand.sample = sample;
}

bool yields_make_way() noexcept {
  static const bool known = [] {
    utsname system{};
    if (uname(&system) != 0) return false;
    char* end = nullptr;
    const long major = std::strtol(system.release, &end, 10), minor = *end == '.' ? std::strtol(end + 1, &end, 10) : 0;
    return major > 6 || (major == 6 && minor >= 18);
  }();
  return known;
}

void Waiting::give_away(double now) noexcept {
  sched_yield();
  yielded_ = now;
  if (wait_mode() != WaitMode::automatic) return;
  back_ = clock();
  if (demand.gave_way(back_ - now)) demand.note(back_);
}

double Waiting::next(double now) noexcept {
  back_ = -1;
  if (began_ < 0) begin(now);
  const WaitMode mode = wait_mode();
  const double waited = now - began_;
  const bool is_woken = wakes_ == Wakes::by_all || wakes_ == Wakes::by_messages;
  const double spins = wakes_ == Wakes::by_nothing ? kShortest / kShare : kAwake;
  const bool gives_way = waited >= spins || now < demand.until || (background && wakes_ == Wakes::by_messages);
  if (mode == WaitMode::sleep || (mode == WaitMode::automatic && gives_way))
    return is_woken ? longest_ : std::clamp(waited * kShare, kShortest, longest_);
  if (check_yields_) {
    if (demand.gave_way(now - yielded_) && demand.was_away(now)) demand.note(now);
    yielded_ = now;
  } else if (shares_ || now - yielded_ >= kBetweenYields)
    give_away(now);
  else
    pause();
  return 0;
}

void Waiting::rest() noexcept {
  if (const double sleep = next(clock()); sleep > 0) sleep_for(sleep);
}

void sleep_for(double seconds) noexcept {
  count_sleep();
  timespec t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(t.tv_sec)));
  nanosleep(&t, nullptr);
}

std::uint64_t sleeps() noexcept { return slept.load(std::memory_order_relaxed); }
void count_sleep() noexcept { slept.fetch_add(1, std::memory_order_relaxed); }

}  // namespace stretto
