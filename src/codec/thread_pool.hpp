// Threads that share the codec's long calls, and sleep between them. Calls on streams start their own (threads()).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "codec/codec.hpp"

namespace stretto::codec {

class ThreadPool {
 public:
  // `width` includes a call's caller; fewer threads where the system starts no more. They inherit this thread's
  // affinity.
  explicit ThreadPool(int width);
  // A forked child has no threads, and leaves their records behind.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The process' pool of this width, which lives as long as its users. Null: width <= 1, or no memory.
  static std::shared_ptr<ThreadPool> shared(int width) noexcept;

  // Valid for the pool's life. One call at a time has the threads: a concurrent call, or one in a forked child, runs
  // its parts itself.
  const Parallel& parallel() const noexcept { return parallel_; }

 private:
  struct Team;
  static std::shared_ptr<ThreadPool> of_width(int width);
  static void run(void* self, int n, void (*task)(void* arg, int i), void* arg);
  void share(int n, void (*task)(void* arg, int i), void* arg) noexcept;

  Parallel parallel_;
  std::unique_ptr<Team> team_;
};

}  // namespace stretto::codec
