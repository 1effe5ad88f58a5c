#include "codec/thread_pool.hpp"

#include <new>

#include "base/forks.hpp"
#include "base/guarded.hpp"
#include "codec/driver.hpp"

namespace stretto::codec {

struct ThreadPool::Team {
  std::mutex mutex;  // held during a call
  std::vector<std::thread> threads;
  std::atomic<unsigned> calls{0};  // a change wakes the threads
  std::atomic<bool> ends{false};

  // A thread counts itself in before it checks whether the call is open, and a call closes before it checks who is in:
  // so none takes a part of a call that has returned.
  std::atomic<bool> open{false};
  std::atomic<int> inside{0}, next{0};
  int parts = 0;
  void (*task)(void* arg, int i) = nullptr;
  void* arg = nullptr;

  const unsigned born = fork_generation();

  void take_parts() noexcept {
    for (int i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < parts;) task(arg, i);
  }

  void serve() noexcept {
    for (unsigned seen = 0; !ends.load();) {
      calls.wait(seen);
      seen = calls.load();
      inside.fetch_add(1);
      if (open.load()) take_parts();
      if (inside.fetch_sub(1) == 1) inside.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int width) : team_(std::make_unique<Team>()) {
  team_->threads.reserve(static_cast<std::size_t>(std::max(width, 1)));
  static_cast<void>(attempt([&] {  // threads that started serve without those that lack
    for (int i = 1; i < std::min(width, kMaxParts); ++i) team_->threads.emplace_back([t = team_.get()] { t->serve(); });
  }));
  parallel_ = {static_cast<int>(team_->threads.size()) + 1, run, this};
}

ThreadPool::~ThreadPool() {
  if (!is_of_generation(team_->born)) {
    static_cast<void>(team_.release());
    return;
  }
  team_->ends.store(true);
  team_->calls.fetch_add(1);
  team_->calls.notify_all();
  for (std::thread& t : team_->threads) t.join();
}

std::shared_ptr<ThreadPool> ThreadPool::shared(int width) noexcept {
  if (width <= 1) return nullptr;
  return value_or<std::shared_ptr<ThreadPool>>(nullptr, [width] { return of_width(width); });
}

std::shared_ptr<ThreadPool> ThreadPool::of_width(int width) {
  struct Latest {
    std::mutex mutex;
    std::weak_ptr<ThreadPool> pool;
    int width = 0;
  };
  static Latest& latest = *new Latest;  // threads may make communicators at exit
  const std::lock_guard lock(latest.mutex);
  std::shared_ptr<ThreadPool> pool = latest.pool.lock();
  if (pool && latest.width == width && is_of_generation(pool->team_->born)) return pool;
  pool = std::make_shared<ThreadPool>(width);
  latest.pool = pool;
  latest.width = width;
  return pool;
}

void ThreadPool::run(void* self, int n, void (*task)(void* arg, int i), void* arg) {
  ThreadPool& pool = *static_cast<ThreadPool*>(self);
  std::mutex& mutex = pool.team_->mutex;
  if (!is_of_generation(pool.team_->born) || !mutex.try_lock()) {
    for (int i = 0; i < n; ++i) task(arg, i);
    return;
  }
  const std::lock_guard held(mutex, std::adopt_lock);
  pool.share(n, task, arg);
}

// Precondition: the mutex is held.
void ThreadPool::share(int n, void (*task)(void* arg, int i), void* arg) noexcept {
  Team& t = *team_;
  t.parts = n;
  t.task = task;
  t.arg = arg;
  t.next.store(0, std::memory_order_relaxed);
  t.open.store(true);
  t.calls.fetch_add(1);
  t.calls.notify_all();
  t.take_parts();
  t.open.store(false);
  for (int inside = t.inside.load(); inside != 0; inside = t.inside.load()) t.inside.wait(inside);
}

}  // namespace stretto::codec
