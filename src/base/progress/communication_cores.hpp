// A thread drives started work on reserved cores while work is attached. It sleeps while none is in flight.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/exclusive.hpp"
#include "base/progress/driven.hpp"
#include "base/status.hpp"

namespace stretto {

// "14,15" or "8-11,14". invalid_argument names malformed text.
Status parse_cores(std::string_view text, std::vector<int>* cores) noexcept;

class CommunicationCores {
 public:
  static CommunicationCores& mine() noexcept;

  // No cores: only callers drive. `of_host`: cores that serve this host's ranks in all processes; 0: these.
  // invalid_argument, without a change: a core is given twice or unavailable. Nothing is driven if no thread starts, as
  // the status reports.
  Status use(std::vector<int> cores, int of_host = 0) noexcept;
  std::vector<int> used() const;
  int of_host() const noexcept { return of_host_.load(std::memory_order_relaxed); }

  // detach() waits until no thread drives. by_any_thread == false: only callers drive, as for an MPI that rejects other
  // threads.
  void attach(Driven& work, bool by_any_thread = true);
  void detach(Driven& work) noexcept;

  bool on() const noexcept { return threads_.load(std::memory_order_acquire) != 0; }

  void wake() noexcept {
    if (!on()) return;
    wakes_.fetch_add(1, std::memory_order_release);
    wakes_.notify_all();
  }

  // Drives all work, unless another thread does. `as_caller`: also work for callers alone. True: something has moved.
  bool drive_here(bool as_caller = false) noexcept;

 private:
  struct Thread;
  CommunicationCores() = default;
  Status begin() noexcept;
  void end() noexcept;
  void run(Thread& thread) noexcept;
  static bool drive_all(std::vector<Driven*>& all, bool spare, bool* busy) noexcept;
  void after_fork() noexcept;

  mutable std::mutex using_;
  std::unique_ptr<Thread> thread_;
  std::vector<int> cores_;
  std::atomic<int> of_host_{0};
  std::atomic<int> threads_{0};
  std::atomic<unsigned> wakes_{0};

  Exclusive work_, callers_work_;
  std::vector<Driven*> all_, callers_;
};

}  // namespace stretto
