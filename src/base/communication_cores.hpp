// Communication cores: cores set aside, on which a thread of this process drives what was started (driven.hpp) while the program computes.
// The thread is there while anything is attached, and sleeps while nothing is in flight. Without such cores, whoever tests or waits drives.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/driven.hpp"
#include "base/exclusive.hpp"
#include "base/status.hpp"

namespace stretto {

// "14,15" or "8-11,14": numbers of Linux's CPUs. Empty: none. invalid_argument names what is no number.
Status parse_cores(std::string_view text, std::vector<int>* cores) noexcept;

class CommunicationCores {
 public:
  static CommunicationCores& mine() noexcept;

  // From now on these, in place of those before; none: nobody but callers drives. `of_host`: cores that serve this host's ranks, in
  // all their processes; 0: these. invalid_argument names one that is given twice, or is not
  // there for this process; nothing has changed then. Where there is no thread to be had, nobody drives, and the status says so.
  Status use(std::vector<int> cores, int of_host = 0) noexcept;
  std::vector<int> used() const;
  int of_host() const noexcept { return of_host_.load(std::memory_order_relaxed); }

  // What is driven, from now on; throws std::bad_alloc. detach() waits until nobody drives it. Without `by_any_thread`,
  // only callers drive it: its messages are those of an MPI that does not take calls from other threads.
  void attach(Driven& work, bool by_any_thread = true);
  void detach(Driven& work) noexcept;

  // Whether a thread drives.
  bool on() const noexcept { return threads_.load(std::memory_order_acquire) != 0; }

  // Work has come.
  void wake() noexcept {
    if (!on()) return;
    wakes_.fetch_add(1, std::memory_order_release);
    wakes_.notify_all();
  }

  // Drives all that is attached, on this thread; not where another thread does. Takes some nanoseconds where nothing is in
  // flight. `as_caller`: also what only callers drive. Its caller may call that MPI then. True: something has moved.
  bool drive_here(bool as_caller = false) noexcept;

 private:
  struct Thread;
  CommunicationCores() = default;
  Status begin() noexcept;
  void end() noexcept;
  void run(Thread& thread) noexcept;
  static bool drive_all(std::vector<Driven*>& all, bool spare, bool* busy) noexcept;
  void after_fork() noexcept;

  mutable std::mutex using_;  // held while the thread may come or go
  std::unique_ptr<Thread> thread_;
  std::vector<int> cores_;
  std::atomic<int> of_host_{0};
  std::atomic<int> threads_{0};
  std::atomic<unsigned> wakes_{0};

  Exclusive work_, callers_work_;       // held by who drives
  std::vector<Driven*> all_, callers_;  // by any thread, and by callers alone
};

}  // namespace stretto
