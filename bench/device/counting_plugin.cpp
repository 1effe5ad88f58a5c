// A plugin that counts and times the calls of another plugin, $STRETTO_COUNTED_PLUGIN (calls.hpp), a GPU's or the
// emulated one.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "bench/device/calls.hpp"
#include "device/plugin.hpp"

namespace stretto::device {
namespace {

using bench::DriverCall;
using bench::DriverCalls;
using codec::cuda::Arguments;
using Clock = std::chrono::steady_clock;

struct Counter {
  std::atomic<std::uint64_t> number{0}, nanoseconds{0};
};
using Counters = std::array<Counter, bench::kDriverCalls>;

// Each thread counts in its own memory, which outlives the thread.
struct All {
  std::mutex mutex;
  std::deque<Counters> threads;
};
All& all() {
  static auto* const a = new All;  // threads may outlive a destructor
  return *a;
}
Counters& own() {
  static thread_local Counters* const mine = [] {
    const std::lock_guard lock(all().mutex);
    return &all().threads.emplace_back();
  }();
  return *mine;
}

Counter& counter(DriverCall call) { return own()[static_cast<std::size_t>(call)]; }
void count(DriverCall call) { counter(call).number.fetch_add(1, std::memory_order_relaxed); }
void count(DriverCall call, Clock::time_point since) {
  const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - since);
  count(call);
  counter(call).nanoseconds.fetch_add(static_cast<std::uint64_t>(spent.count()), std::memory_order_relaxed);
}

const Plugin& counted() {
  static const Plugin* const plugin = [] {
    const char* const name = std::getenv("STRETTO_COUNTED_PLUGIN");
    void* const library = name != nullptr ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    void* const table = library != nullptr ? dlsym(library, kPluginSymbol) : nullptr;
    if (table == nullptr) {
      std::fprintf(stderr, "STRETTO_COUNTED_PLUGIN=%s is no plugin\n", name != nullptr ? name : "");
      std::abort();
    }
    return reinterpret_cast<const Plugin* (*)()>(table)();
  }();
  return *plugin;
}

template <class Function>
int timed(DriverCall call, const Function& function) {
  const auto since = Clock::now();
  const int error = function();
  count(call, since);
  return error;
}

int allocate(MemoryKind kind, u64 bytes, void** p) {
  return timed(DriverCall::allocate, [&] { return counted().allocate(kind, bytes, p); });
}
int record(void* event, void* stream) {
  return timed(DriverCall::record, [&] { return counted().record(event, stream); });
}
int wait(void* stream, void* event) {
  return timed(DriverCall::wait, [&] { return counted().wait(stream, event); });
}
int is_over(void* event, int* over) {
  const auto since = Clock::now();
  const int error = counted().is_over(event, over);
  count(error == 0 && *over == 0 ? DriverCall::vain : DriverCall::query, since);
  return error;
}
int copy(void* to, const void* from, u64 bytes, void* stream) {
  return timed(DriverCall::copy, [&] { return counted().copy(to, from, bytes, stream); });
}
int clear(void* to, u64 bytes, void* stream) {
  return timed(DriverCall::clear, [&] { return counted().clear(to, bytes, stream); });
}
int launch(const Arguments& a) {
  count(DriverCall::clear);
  if (a.host_result != nullptr) count(DriverCall::copy);
  return timed(DriverCall::kernel, [&] { return counted().launch(a); });
}
int combine_values(const Values& v) {
  return timed(DriverCall::kernel, [&] { return counted().combine_values(v); });
}
int negate_values(const Values& v) {
  return timed(DriverCall::kernel, [&] { return counted().negate_values(v); });
}
int divide_values(const Values& v) {
  return timed(DriverCall::kernel, [&] { return counted().divide_values(v); });
}

}  // namespace
}  // namespace stretto::device

#pragma GCC visibility push(default)
extern "C" const stretto::device::Plugin* stretto_cuda_plugin() {
  using namespace stretto::device;
  static const Plugin plugin = [] {
    Plugin p = counted();
    p.allocate = allocate;
    p.record = record;
    p.wait = wait;
    p.is_over = is_over;
    p.copy = copy;
    p.clear = clear;
    p.launch = launch;
    p.combine_values = combine_values;
    p.negate_values = negate_values;
    p.divide_values = divide_values;
    return p;
  }();
  return &plugin;
}

extern "C" void stretto_driver_calls(stretto::bench::DriverCalls* calls) {
  using namespace stretto::device;
  *calls = {};
  const std::lock_guard lock(all().mutex);
  for (const Counters& thread : all().threads) {
    for (std::size_t i = 0; i < thread.size(); ++i) {
      calls->number[i] += thread[i].number.load(std::memory_order_relaxed);
      calls->seconds[i] += 1e-9 * static_cast<double>(thread[i].nanoseconds.load(std::memory_order_relaxed));
    }
  }
}
#pragma GCC visibility pop
