// Started collectives run the blocking form's code on a fiber, whose waits return to the driving thread, one after
// another in the order of their start, equal on every rank. A split one has lanes (schedule::Lane), and rests until a
// driver takes the next one.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "base/exclusive.hpp"
#include "base/progress/driven.hpp"
#include "base/progress/fiber.hpp"
#include "base/status.hpp"
#include "node/group/wait.hpp"
#include "schedule/schedule.hpp"

namespace stretto::node {

// Those that a driver takes.
struct Lanes {
  bool before = true, beside = true, after = true;
  bool has(schedule::Lane lane) const noexcept {
    return lane == schedule::Lane::before ? before : lane == schedule::Lane::beside ? beside : after;
  }
};

class Started final : public Driven {
 public:
  // Its address is fixed until it is done.
  class Task {
   public:
    virtual ~Task() = default;  // precondition: done, or never started
    bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    Status status() const noexcept;  // valid once done; sets this thread's message

   protected:
    void begins_before() noexcept { lane_ = schedule::Lane::before; }
    virtual Status run() noexcept = 0;  // waits only through the patience of `Started`

   private:
    friend class Started;
    std::atomic<schedule::Lane> lane_{schedule::Lane::beside};
    Task* next_ = nullptr;
    Status status_ = Status::ok;
    std::array<char, 512> text_{};
    std::atomic<bool> done_{false};
  };

  // `patience` belongs to the group of these collectives.
  explicit Started(Patience& patience);
  ~Started();  // precondition: idle

  void start(Task& task) noexcept;  // by one thread at a time
  bool drive(Lanes lanes) noexcept { return try_drive(lanes) == Drive::moved; }
  // On a communication core: not a caller's steps, unless later collectives wait for them.
  bool drive() noexcept override {
    return drive(
        {.before = !leads_.load(), .after = waiting_.load() > 0 || count_.load(std::memory_order_relaxed) > 1});
  }
  bool drive_spare() noexcept override { return drive({.before = !leads_.load()}); }
  void reach(schedule::Lane lane) noexcept;  // by the front, before steps of this lane

  // The starting call does the steps before the work while leads() is true. Cores leave them until end_lead().
  bool leads(const Task& task) noexcept;
  bool move_lead() noexcept;  // true: something moved
  void end_lead() noexcept { leads_.store(false); }
  // While a caller waits, the cores help it.
  void expect(int more_waiting) noexcept { waiting_.fetch_add(more_waiting); }

  // After drive() returned false: sleeps until this task is done or can make progress, at most `seconds`.
  void rest(const Task& task, double seconds) noexcept;
  bool idle() const noexcept override { return count_.load(std::memory_order_acquire) == 0; }

 private:
  enum class Drive : std::uint8_t { moved, waits, taken };  // taken: another thread drives

  Drive try_drive(Lanes lanes) noexcept;
  void watch_awaited(const Task& task, double seconds) noexcept;
  void await_end(const Task& task, double seconds, bool watched) noexcept;
  static void run_front(void* self) noexcept;
  static void suspend(void* self, bool anew) noexcept;
  Task* front() noexcept;
  void end_front() noexcept;

  Patience& patience_;
  // One resting thread watches: it sleeps on the front's awaited bell, the others on ended_. A thread that moves the
  // front wakes the watcher.
  Bell ended_;                           // rings when the front has ended or the watcher leaves
  std::atomic<Bell*> awaited_{nullptr};  // of the peer that the front waits for; null: the front has not begun
  std::atomic<Bell*> slept_on_{nullptr};
  std::atomic<bool> watched_{false};
  Exclusive driving_;
  Fiber fiber_;
  bool running_ = false, moved_ = false;
  Lanes lanes_;  // of the thread that drives
  std::atomic<bool> leads_{false};
  std::atomic<int> waiting_{0};

  std::mutex list_;
  Task *first_ = nullptr, *last_ = nullptr;
  std::atomic<int> count_{0};
};

}  // namespace stretto::node
