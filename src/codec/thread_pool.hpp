// Threads that share the codec's long calls (Parallel), and sleep between them. Calls on streams start their own
// (threads()).
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
  // `width` threads including a call's caller; fewer where the system starts no more. They inherit this thread's
  // affinity.
  explicit ThreadPool(int width);
  // A forked child has no threads, and leaves their records behind.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The process's of this width, which lives as long as its users. Null: width <= 1, or memory lacks.
  static std::shared_ptr<ThreadPool> shared(int width) noexcept;

  // Valid for the pool's life. One call at a time has the threads: a concurrent one, or one in a forked child, runs its
  // parts itself.
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
