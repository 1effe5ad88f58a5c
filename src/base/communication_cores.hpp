// Communication cores: cores set aside, with a thread of this process for each. One drives what was started (driven.hpp) while the program
// computes. All take parts of the work that a call shares (shared_work.hpp). They are there while somebody needs them, and sleep while
// there is nothing to do. Without such cores, whoever tests or waits drives, and who has work does it alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/driven.hpp"
#include "base/exclusive.hpp"
#include "base/shared_work.hpp"
#include "base/status.hpp"

namespace stretto {

// "14,15" or "8-11,14": numbers of Linux's CPUs. Empty: none. invalid_argument names what is no number.
Status parse_cores(std::string_view text, std::vector<int>* cores) noexcept;

class CommunicationCores {
 public:
  static CommunicationCores& mine() noexcept;

  // From now on these, in place of those before; none: nobody but callers drives. invalid_argument names one that is given twice, or is not
  // there for this process; nothing has changed then. Where there is no thread to be had, nobody drives, and the status says so.
  Status use(std::vector<int> cores) noexcept;
  std::vector<int> used() const;

  // What is driven, from now on; throws std::bad_alloc. detach() waits until nobody drives it.
  void attach(Driven& work);
  void detach(Driven& work) noexcept;

  // While it lives, somebody may have work to share, whether or not anything is attached.
  class Holder {
   public:
    Holder() noexcept { mine().hold(); }
    ~Holder() { mine().release(); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
  };

  // Whether a thread drives.
  bool on() const noexcept { return threads() != 0; }
  int threads() const noexcept { return threads_.load(std::memory_order_acquire); }

  // task(arg, i) for each i in [0, n), in any order, some of them by the cores; returns when all are done.
  void share(int n, SharedWork::Task task, void* arg) noexcept {
    shared_.run(n, task, arg, [this] { wake(); });
  }

  // Work has come.
  void wake() noexcept {
    if (!on()) return;
    wakes_.fetch_add(1, std::memory_order_release);
    wakes_.notify_all();
  }

  // Drives all that is attached, on this thread; not where another thread does. Takes some nanoseconds where nothing is in flight.
  void drive_here() noexcept;

 private:
  struct Threads;
  CommunicationCores() = default;
  void hold() noexcept;
  void release() noexcept;
  Status begin() noexcept;
  void end() noexcept;
  void run(const Threads& threads, bool drives) noexcept;
  bool drive_all(bool* busy) noexcept;
  void after_fork() noexcept;

  mutable std::mutex using_;  // held while threads may come or go
  std::unique_ptr<Threads> begun_;
  int holders_ = 0;
  std::vector<int> cores_;
  std::atomic<int> threads_{0};
  std::atomic<unsigned> wakes_{0};

  SharedWork shared_;

  Exclusive work_;  // held by who drives
  std::vector<Driven*> all_;
};

}  // namespace stretto
