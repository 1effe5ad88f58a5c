// Time limits for calls that block in another library and cannot be cancelled, as the MPI's own collectives. A thread of the process
// reads one word of each caller once a second. A call beyond its limit is reported while it lasts, within two seconds more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace stretto::carrier {

// Handler of a call beyond its limit, called by the watchdog's thread. It must not throw.
using Late = std::function<void(const char* call, double limit)>;

// One caller, whose calls follow each other. The thread is there while any caller lives that ever gave a limit.
class Watchdog {
 public:
  explicit Watchdog(Late late) : late_(std::make_shared<const Late>(std::move(late))) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Replaces the handler for later calls.
  void set_late(Late late);

  // `call` is of static storage, `limit` in seconds and positive. Where the process gets no thread, the call has no limit.
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
  void look(double elapsed) noexcept;  // `elapsed` seconds after the last look
  bool is_late() const noexcept;       // until it is told

  std::atomic<std::uint64_t> number_{0};  // odd while a call lasts
  std::atomic<const char*> call_{nullptr};
  std::atomic<double> limit_{0};
  bool joined_ = false;
  // Under the lock of all watchdogs: the call that was seen last.
  std::uint64_t seen_ = 0, told_ = 0;
  const char* seen_call_ = nullptr;
  double seen_limit_ = 0, lasted_ = 0;
  std::shared_ptr<const Late> late_;
};

// A call while this lives. Without a watchdog, and with a limit that is not positive, it has none.
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
