#include "base/progress/communication_cores.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "base/guarded.hpp"

namespace stretto {
namespace {

constexpr int kMostCpus = 8192;
constexpr int kLooks = 500;
constexpr timespec kMoment{0, 20'000};

}  // namespace

struct CommunicationCpus {
  cpu_set_t sets[kMostCpus / CPU_SETSIZE];

  CommunicationCpus() noexcept { CPU_ZERO_S(sizeof sets, sets); }
  void add(int cpu) noexcept { CPU_SET_S(static_cast<std::size_t>(cpu), sizeof sets, sets); }
  bool has(int cpu) const noexcept { return CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof sets, sets); }
};

namespace {

// Beyond this thread's binding: a new thread asks for all.
Status allowed(CommunicationCpus* found) noexcept {
  const auto ask = [found] {
    CommunicationCpus all;
    std::memset(all.sets, 0xff, sizeof all.sets);
    sched_setaffinity(0, sizeof all.sets, all.sets);
    sched_getaffinity(0, sizeof found->sets, found->sets);
  };
  if (attempt([&] { std::thread(ask).join(); })) return Status::ok;
  return fail(Status::out_of_memory, std::string_view("no thread to find out which cores may be used"));
}

bool number(std::string_view* text, int* n) noexcept {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *n);
  if (error != std::errc() || *n < 0) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return true;
}

Status check(const std::vector<int>& cores) noexcept {
  CommunicationCpus usable;
  if (const Status s = allowed(&usable); s != Status::ok) return s;
  for (auto core = cores.begin(); core != cores.end(); ++core) {
    if (*core < 0 || *core >= kMostCpus || !usable.has(*core))
      return fail(Status::invalid_argument, "core {} is not there, or this process may not use it", *core);
    if (std::find(cores.begin(), core, *core) != core)
      return fail(Status::invalid_argument, "core {} is given twice", *core);
  }
  return Status::ok;
}

}  // namespace

Status parse_cores(std::string_view text, std::vector<int>* cores) noexcept {
  return guarded("for a list of cores", [&] {
    cores->clear();
    for (std::string_view rest = text; !rest.empty();) {
      int first = 0;
      if (!number(&rest, &first))
        return fail(Status::invalid_argument, "cores '{}': '{}' is no core's number", text, rest);
      int last = first;
      if (rest.starts_with('-')) {
        rest.remove_prefix(1);
        if (!number(&rest, &last) || last < first || last - first > kMostCpus)
          return fail(Status::invalid_argument, "cores '{}': a range is two numbers, the smaller one first", text);
      }
      for (int cpu = first; cpu <= last; ++cpu) cores->push_back(cpu);
      if (rest.empty()) break;
      if (!rest.starts_with(',') || rest.size() == 1)
        return fail(Status::invalid_argument, "cores '{}': '{}' where a comma and a number belong", text, rest);
      rest.remove_prefix(1);
    }
    return Status::ok;
  });
}

struct CommunicationCores::Thread {
  CommunicationCpus cpus;
  std::atomic<bool> ends{false};
  std::thread thread;
};

// Never destroyed: programs end late. Allocates nothing.
CommunicationCores& CommunicationCores::mine() noexcept {
  alignas(CommunicationCores) static std::byte place[sizeof(CommunicationCores)];
  static CommunicationCores* const only = [] {
    auto* made = new (place) CommunicationCores;
    pthread_atfork(
        [] {
          mine().using_.lock();
          mine().work_.lock();
          mine().callers_work_.lock();
        },
        [] {
          mine().callers_work_.unlock();
          mine().work_.unlock();
          mine().using_.unlock();
        },
        [] { mine().after_fork(); });
    return made;
  }();
  return *only;
}

// A child has neither thread nor ranks.
void CommunicationCores::after_fork() noexcept {
  static_cast<void>(thread_.release());
  threads_.store(0, std::memory_order_relaxed);
  cores_.clear();
  all_.clear();
  callers_.clear();
  of_host_.store(0, std::memory_order_relaxed);
  callers_work_.unlock();
  work_.unlock();
  using_.unlock();
}

// With signals blocked, if there are cores and work.
Status CommunicationCores::begin() noexcept {
  if (cores_.empty() || all_.empty() || thread_) return Status::ok;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status s = Status::ok;
  threads_.store(1, std::memory_order_release);
  const bool runs = attempt([&] {
    auto made = std::make_unique<Thread>();
    for (const int cpu : cores_) made->cpus.add(cpu);
    made->thread = std::thread([this, t = made.get()] { run(*t); });
    thread_ = std::move(made);
  });
  if (!runs) {
    threads_.store(0, std::memory_order_release);
    s = fail(Status::out_of_memory, std::string_view("no thread for the communication cores"));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (s != Status::ok) return s;
  const CommunicationCpus& cpus = thread_->cpus;
  if (const int refused = pthread_setaffinity_np(thread_->thread.native_handle(), sizeof cpus.sets, cpus.sets)) {
    end();
    return fail(Status::unsupported, "the communication thread cannot be bound to its cores: {}",
                std::strerror(refused));
  }
  return Status::ok;
}

void CommunicationCores::end() noexcept {
  if (!thread_) return;
  threads_.store(0, std::memory_order_release);
  thread_->ends.store(true, std::memory_order_release);
  wakes_.fetch_add(1, std::memory_order_release);
  wakes_.notify_all();
  thread_->thread.join();
  thread_.reset();
}

Status CommunicationCores::use(std::vector<int> cores, int of_host) noexcept {
  const std::lock_guard lock(using_);
  const int all = of_host > 0 ? of_host : static_cast<int>(cores.size());
  if (cores != cores_) {
    if (const Status s = check(cores); s != Status::ok) return s;
    end();
    cores_ = std::move(cores);
  }
  of_host_.store(all, std::memory_order_relaxed);
  const Status s = begin();
  if (s != Status::ok) of_host_.store(0, std::memory_order_relaxed);
  return s;
}

std::vector<int> CommunicationCores::used() const {
  const std::lock_guard lock(using_);
  return cores_;
}

void CommunicationCores::attach(Driven& work, bool by_any_thread) {
  const std::lock_guard lock(using_);
  if (!by_any_thread) {
    const std::lock_guard driving(callers_work_);
    callers_.push_back(&work);
    return;
  }
  {
    const std::lock_guard driving(work_);
    all_.push_back(&work);
  }
  static_cast<void>(begin());
}

void CommunicationCores::detach(Driven& work) noexcept {
  const std::lock_guard lock(using_);
  bool last = false;
  {
    const std::lock_guard driving(work_);
    std::erase(all_, &work);
    last = all_.empty();
  }
  {
    const std::lock_guard driving(callers_work_);
    std::erase(callers_, &work);
  }
  if (last) end();
}

bool CommunicationCores::drive_all(std::vector<Driven*>& all, bool spare, bool* busy) noexcept {
  bool moved = false;
  for (Driven* work : all) {
    if (work->idle()) continue;
    *busy = true;
    moved |= spare ? work->drive_spare() : work->drive();
  }
  return moved;
}

bool CommunicationCores::drive_here(bool as_caller) noexcept {
  bool busy = false, moved = false;
  if (const std::unique_lock lock(work_, std::try_to_lock); lock) moved = drive_all(all_, true, &busy);
  if (!as_caller) return moved;
  if (const std::unique_lock lock(callers_work_, std::try_to_lock); lock) moved |= drive_all(callers_, true, &busy);
  return moved;
}

void CommunicationCores::run(Thread& t) noexcept {
  int idle = 0;
  std::optional<unsigned> spare;
  while (!t.ends.load(std::memory_order_acquire)) {
    const unsigned seen = wakes_.load(std::memory_order_acquire);
    bool busy = false, moved = false;
    {
      const std::lock_guard lock(work_);
      moved = drive_all(all_, spare == seen, &busy);
    }
    if (moved) {
      idle = 0;
    } else if (!busy) {
      if (!t.ends.load(std::memory_order_acquire)) wakes_.wait(seen, std::memory_order_acquire);
      idle = 0;
    } else if (++idle < kLooks) {
      sched_yield();
    } else {
      spare = seen;
      nanosleep(&kMoment, nullptr);
    }
  }
}

}  // namespace stretto
