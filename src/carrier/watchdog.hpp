// A thread reads one word of each caller once a second. A late call is reported within two seconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace stretto::carrier {

// Runs on the watchdog's thread. Must not throw.
using LateHandler = std::function<void(const char* call, double limit)>;

// The thread lives while a caller lives that ever gave a limit.
class Watchdog {
 public:
  explicit Watchdog(LateHandler late) : late_(std::make_shared<const LateHandler>(std::move(late))) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_late(LateHandler late);

  // `call`: static; `limit`: positive. Without a thread there is no limit.
  void begin(const char* call, double limit) noexcept {
    if (!joined_) [[unlikely]]
      join();
    std::atomic_thread_fence(std::memory_order_release);  // after the number that end() left: see look()
    call_.store(call, std::memory_order_relaxed);
    limit_.store(limit, std::memory_order_relaxed);
    number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void end() noexcept { number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  friend class Watchdogs;
  void join() noexcept;
  void look(double elapsed) noexcept;  // seconds since the last look
  bool is_late() const noexcept;

  std::atomic<std::uint64_t> number_{0};  // odd during a call
  std::atomic<const char*> call_{nullptr};
  std::atomic<double> limit_{0};
  bool joined_ = false;
  // Latest call; under the lock of all watchdogs.
  std::uint64_t seen_ = 0, told_ = 0;
  const char* seen_call_ = nullptr;
  double seen_limit_ = 0, lasted_ = 0;
  std::shared_ptr<const LateHandler> late_;
};

// Without a watchdog or a positive limit there is none.
class Limited {
 public:
  Limited(Watchdog* watchdog, const char* call, double limit) noexcept : watchdog_(limit > 0 ? watchdog : nullptr) {
    if (watchdog_) watchdog_->begin(call, limit);
  }
  ~Limited() {
    if (watchdog_) watchdog_->end();
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  Watchdog* const watchdog_;
};

}  // namespace stretto::carrier
