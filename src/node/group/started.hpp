// Collectives that were started. Each runs on a fiber: the code is that of the blocking form, and where that would wait, it goes back to who
// drives it. One runs after the other, in the order of their start, which is the same on every rank.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "base/driven.hpp"
#include "base/exclusive.hpp"
#include "base/fiber.hpp"
#include "base/status.hpp"
#include "node/group/wait.hpp"

namespace stretto::node {

class Started final : public Driven {
 public:
  // One collective. It stays where it is until it is done.
  class Task {
   public:
    virtual ~Task() = default;  // precondition: done, or never started
    bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    Status status() const noexcept;  // once done; renews the message on this thread

   protected:
    virtual Status run() noexcept = 0;  // waits by the patience of `Started` alone

   private:
    friend class Started;
    Task* next_ = nullptr;
    Status status_ = Status::ok;
    std::array<char, 512> text_{};
    std::atomic<bool> done_{false};
  };

  // `patience` is that of the group whose collectives these are. Throws std::bad_alloc.
  explicit Started(Patience& patience);
  ~Started();  // precondition: idle

  void start(Task& task) noexcept;  // by one thread
  bool drive() noexcept override { return try_drive() == Drive::moved; }
  // After a drive() in vain: sleeps until this task is done or may go on, and for so many seconds at most.
  void rest(const Task& task, double seconds) noexcept;
  bool idle() const noexcept override { return count_.load(std::memory_order_acquire) == 0; }

 private:
  enum class Drive : std::uint8_t { moved, waits, taken };  // taken: another thread drives

  Drive try_drive() noexcept;
  void watch_awaited(const Task& task, double seconds) noexcept;
  void await_end(const Task& task, double seconds, bool watched) noexcept;
  static void run_front(void* self) noexcept;
  static void suspend(void* self, bool anew) noexcept;
  Task* front() noexcept;
  void end_front() noexcept;

  Patience& patience_;
  // Where several threads rest, one of them watches: it sleeps on the bell of the peer that the front waits for. The
  // others sleep on ended_. A thread that moves the front wakes the watcher.
  Bell ended_;                            // of this process: the front has ended, or nobody watches any more
  std::atomic<Bell*> awaited_{nullptr};   // of the peer that the front waits for; null: it has not begun
  std::atomic<Bell*> slept_on_{nullptr};  // by the watcher
  std::atomic<bool> watched_{false};
  Exclusive driving_;  // held by who drives
  Fiber fiber_;
  bool running_ = false, moved_ = false;

  std::mutex list_;
  Task *first_ = nullptr, *last_ = nullptr;
  std::atomic<int> count_{0};
};

}  // namespace stretto::node
