#include "carrier/watchdog.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/guarded.hpp"

namespace stretto::carrier {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPeriod{1};

// Signals belong to the program's threads.
template <class Body>
std::thread without_signals(const Body& body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread(body);
}

}  // namespace

// Never destroyed: programs end late.
class Watchdogs {
 public:
  static Watchdogs& mine() {
    static Watchdogs* const only = [] {
      auto* made = new Watchdogs;
      pthread_atfork([] { mine().mutex_.lock(); }, [] { mine().mutex_.unlock(); }, [] { mine().after_fork(); });
      return made;
    }();
    return *only;
  }

  void add(Watchdog* w) {
    const std::lock_guard lock(mutex_);
    all_.push_back(w);
    if (thread_) return;
    try {
      thread_ = std::make_unique<std::thread>(without_signals([this, mine = generation_] { run(mine); }));
    } catch (...) {
      all_.pop_back();
      throw;
    }
  }

  void remove(Watchdog* w) noexcept {
    std::unique_ptr<std::thread> last;
    {
      const std::lock_guard lock(mutex_);
      std::erase(all_, w);
      if (!all_.empty() || !thread_) return;
      last = std::move(thread_);
      ++generation_;
      changed_.notify_one();
    }
    if (last->get_id() == std::this_thread::get_id())
      last->detach();  // its handler ends the program
    else
      last->join();
  }

  void set_late(Watchdog* w, std::shared_ptr<const LateHandler> late) noexcept {
    const std::lock_guard lock(mutex_);
    w->late_.swap(late);
  }

 private:
  void run(unsigned mine) {
    std::unique_lock lock(mutex_);
    for (Clock::time_point before = Clock::now(); mine == generation_;) {
      changed_.wait_for(lock, kPeriod);
      if (mine != generation_) return;
      // Excludes time while stopped or asleep.
      const Clock::time_point now = Clock::now();
      const double elapsed =
          std::chrono::duration<double>(std::min<Clock::duration>(now - before, 2 * kPeriod)).count();
      before = now;
      for (Watchdog* w : all_) w->look(elapsed);
      const auto late = std::find_if(all_.begin(), all_.end(), [](const Watchdog* w) { return w->is_late(); });
      if (late == all_.end()) continue;
      (*late)->told_ = (*late)->seen_;
      const std::shared_ptr<const LateHandler> report = (*late)->late_;
      const char* const call = (*late)->seen_call_;
      const double limit = (*late)->seen_limit_;
      lock.unlock();  // the handler may end the program and its callers
      (*report)(call, limit);
      lock.lock();
    }
  }

  // The condition may count the parent's waiter.
  void after_fork() noexcept {
    static_cast<void>(thread_.release());
    new (&changed_) std::condition_variable;
    all_.clear();
    ++generation_;
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watchdog*> all_;
  std::unique_ptr<std::thread> thread_;
  unsigned generation_ = 0;
};

Watchdog::~Watchdog() {
  if (joined_) Watchdogs::mine().remove(this);
}

void Watchdog::set_late(LateHandler late) {
  Watchdogs::mine().set_late(this, std::make_shared<const LateHandler>(std::move(late)));
}

void Watchdog::join() noexcept {
  joined_ = attempt([&] { Watchdogs::mine().add(this); });  // else the next call tries again
}

// An unchanged number: call and limit belong together.
void Watchdog::look(double elapsed) noexcept {
  const std::uint64_t number = number_.load(std::memory_order_acquire);
  const char* const call = call_.load(std::memory_order_relaxed);
  const double limit = limit_.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool one = number % 2 == 1 && number == number_.load(std::memory_order_relaxed);
  lasted_ = one && number == seen_ ? lasted_ + elapsed : 0;
  seen_ = one ? number : 0;
  seen_call_ = call;
  seen_limit_ = limit;
}

bool Watchdog::is_late() const noexcept {
  return lasted_ > seen_limit_ && told_ != seen_ && number_.load(std::memory_order_relaxed) == seen_;
}

}  // namespace stretto::carrier
