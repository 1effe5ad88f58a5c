#include "base/communication_cores.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <thread>

namespace stretto {
namespace {

constexpr int most_cpus = 8192;
// How often a thread looks before it sleeps for a moment, where what is in flight waits for other ranks; some hundred microseconds.
constexpr int looks = 500;
constexpr timespec moment{0, 20'000};

struct Cpus {
  cpu_set_t sets[most_cpus / CPU_SETSIZE];

  Cpus() noexcept { CPU_ZERO_S(sizeof sets, sets); }
  void add(int cpu) noexcept { CPU_SET_S(static_cast<std::size_t>(cpu), sizeof sets, sets); }
  bool has(int cpu) const noexcept { return CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof sets, sets); }
};

// What the system lets threads of this process use, whatever it is bound to: found by asking for all of it on a thread of its own.
Status allowed(Cpus* found) noexcept try {
  std::thread([found] {
    Cpus all;
    std::memset(all.sets, 0xff, sizeof all.sets);
    sched_setaffinity(0, sizeof all.sets, all.sets);
    sched_getaffinity(0, sizeof found->sets, found->sets);
  }).join();
  return Status::ok;
} catch (...) {
  return fail(Status::out_of_memory, std::string_view("no thread to find out which cores may be used"));
}

bool number(std::string_view* text, int* n) noexcept {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *n);
  if (error != std::errc() || *n < 0) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return true;
}

Status check(const std::vector<int>& cores) noexcept {
  Cpus usable;
  if (const Status s = allowed(&usable); s != Status::ok) return s;
  for (auto core = cores.begin(); core != cores.end(); ++core) {
    if (*core < 0 || *core >= most_cpus || !usable.has(*core))
      return fail(Status::invalid_argument, "core {} is not there, or this process may not use it", *core);
    if (std::find(cores.begin(), core, *core) != core)
      return fail(Status::invalid_argument, "core {} is given twice", *core);
  }
  return Status::ok;
}

}  // namespace

Status parse_cores(std::string_view text, std::vector<int>* cores) noexcept try {
  cores->clear();
  for (std::string_view rest = text; !rest.empty();) {
    int first = 0;
    if (!number(&rest, &first))
      return fail(Status::invalid_argument, "cores '{}': '{}' is no core's number", text, rest);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!number(&rest, &last) || last < first || last - first > most_cpus)
        return fail(Status::invalid_argument, "cores '{}': a range is two numbers, the smaller one first", text);
    }
    for (int cpu = first; cpu <= last; ++cpu) cores->push_back(cpu);
    if (rest.empty()) break;
    if (!rest.starts_with(',') || rest.size() == 1)
      return fail(Status::invalid_argument, "cores '{}': '{}' where a comma and a number belong", text, rest);
    rest.remove_prefix(1);
  }
  return Status::ok;
} catch (const std::bad_alloc&) {
  return fail(Status::out_of_memory, std::string_view("no memory for a list of cores"));
}

struct CommunicationCores::Threads {
  Cpus cpus;
  std::atomic<bool> ends{false};
  std::vector<std::thread> all;
};

// Never destroyed: programs end late. Takes no memory: who waits has perhaps none.
CommunicationCores& CommunicationCores::mine() noexcept {
  alignas(CommunicationCores) static std::byte place[sizeof(CommunicationCores)];
  static CommunicationCores* const only = [] {
    auto* made = new (place) CommunicationCores;
    pthread_atfork(
        [] {
          mine().using_.lock();
          mine().work_.lock();
        },
        [] {
          mine().work_.unlock();
          mine().using_.unlock();
        },
        [] { mine().after_fork(); });
    return made;
  }();
  return *only;
}

// A child has neither the threads nor the ranks whose work they drove.
void CommunicationCores::after_fork() noexcept {
  static_cast<void>(begun_.release());
  threads_.store(0, std::memory_order_relaxed);
  holders_ = 0;
  cores_.clear();
  all_.clear();
  work_.unlock();
  using_.unlock();
}

// The threads, where there are cores and somebody who needs them. The program's signals go to the program's threads.
Status CommunicationCores::begin() noexcept {
  if (cores_.empty() || (all_.empty() && holders_ == 0) || begun_) return Status::ok;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status s = Status::ok;
  try {
    begun_ = std::make_unique<Threads>();
    for (const int cpu : cores_) begun_->cpus.add(cpu);
    begun_->all.reserve(cores_.size());
    while (begun_->all.size() < cores_.size())
      begun_->all.emplace_back([this, t = begun_.get(), drives = begun_->all.empty()] { run(*t, drives); });
  } catch (...) {
    s = fail(Status::out_of_memory, "no thread for each of {} communication cores", cores_.size());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (std::size_t i = 0; s == Status::ok && i < begun_->all.size(); ++i)
    if (const int refused =
            pthread_setaffinity_np(begun_->all[i].native_handle(), sizeof begun_->cpus.sets, begun_->cpus.sets))
      s = fail(Status::unsupported, "the communication threads cannot be bound to their cores: {}",
               std::strerror(refused));
  if (s != Status::ok) {
    end();
    return s;
  }
  threads_.store(static_cast<int>(begun_->all.size()), std::memory_order_release);
  return Status::ok;
}

void CommunicationCores::end() noexcept {
  if (!begun_) return;
  threads_.store(0, std::memory_order_release);
  begun_->ends.store(true, std::memory_order_release);
  wakes_.fetch_add(1, std::memory_order_release);
  wakes_.notify_all();
  for (std::thread& t : begun_->all) t.join();
  begun_.reset();
}

Status CommunicationCores::use(std::vector<int> cores) noexcept {
  const std::lock_guard lock(using_);
  if (cores == cores_) return Status::ok;
  if (const Status s = check(cores); s != Status::ok) return s;
  end();
  cores_ = std::move(cores);
  return begin();
}

std::vector<int> CommunicationCores::used() const {
  const std::lock_guard lock(using_);
  return cores_;
}

void CommunicationCores::attach(Driven& work) {
  const std::lock_guard lock(using_);
  {
    const std::lock_guard driving(work_);
    all_.push_back(&work);
  }
  static_cast<void>(begin());  // else callers drive
}

void CommunicationCores::detach(Driven& work) noexcept {
  const std::lock_guard lock(using_);
  bool last = false;
  {
    const std::lock_guard driving(work_);
    std::erase(all_, &work);
    last = all_.empty();
  }
  if (last && holders_ == 0) end();
}

void CommunicationCores::hold() noexcept {
  const std::lock_guard lock(using_);
  ++holders_;
  static_cast<void>(begin());  // else who has work does it alone
}

void CommunicationCores::release() noexcept {
  const std::lock_guard lock(using_);
  if (holders_ > 0) --holders_;  // of before a fork, in the child
  if (holders_ == 0 && all_.empty()) end();
}

bool CommunicationCores::drive_all(bool* busy) noexcept {
  bool moved = false;
  for (Driven* work : all_) {
    if (work->idle()) continue;
    *busy = true;
    moved |= work->drive();
  }
  return moved;
}

void CommunicationCores::drive_here() noexcept {
  const std::unique_lock lock(work_, std::try_to_lock);
  bool busy = false;
  if (lock) drive_all(&busy);
}

void CommunicationCores::run(const Threads& t, bool drives) noexcept {
  int idle = 0;
  bool helped = false;  // more parts may be shared in a moment
  while (!t.ends.load(std::memory_order_acquire)) {
    const unsigned seen = wakes_.load(std::memory_order_acquire);
    bool busy = false, moved = false;
    if (drives) {
      const std::lock_guard lock(work_);
      moved = drive_all(&busy);
    }
    while (shared_.help()) moved = helped = true;
    if (moved) {
      idle = 0;
    } else if (++idle < (busy || helped ? looks : 1)) {
      sched_yield();  // other ranks' threads may want the core
    } else if (busy) {
      nanosleep(&moment, nullptr);
    } else {
      if (!t.ends.load(std::memory_order_acquire)) wakes_.wait(seen, std::memory_order_acquire);
      idle = 0;
      helped = false;
    }
  }
}

}  // namespace stretto
