// A plugin with devices in this process. Kernels run on emulated warps. Streams are queues that a seed interleaves:
// each query runs a little work on a random stream. So copies are late, and work without a waiter does not run. The
// host cannot touch device memory (emulated_memory.hpp).
//
// STRETTO_EMULATED_DEVICES (default 1), STRETTO_EMULATED_VERSION: number of devices, version of the interface.
// STRETTO_EMULATED_PEERS=0: no device reaches another's memory. STRETTO_EMULATED_IPC=0: nor does another process.
// STRETTO_EMULATED_PLAIN: all memory counts as the device's, unless its address is 64 modulo 128; work runs at once.
// STRETTO_EMULATED_COPY_GBIT: copies between host and device take their time at this rate, one at a time in each
// direction; all other work runs at the next query.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/raw_values.hpp"
#include "emulated.hpp"
#include "emulated_kernels.hpp"
#include "emulated_memory.hpp"

namespace stretto::device {
namespace {

using codec::cuda::Arguments;
using codec::cuda::Result;

constexpr int kMostDevices = 16;
constexpr int kNoMemory = 2, kInvalidValue = 1, kInvalidDevice = 101, kInvalidHandle = 400, kLost = 214,
              kNotSupported = 801;

thread_local int current = 0;  // device

int number(const char* name, int otherwise) {
  const char* v = std::getenv(name);
  return v ? std::atoi(v) : otherwise;
}

struct Event {
  std::size_t recorded = 0, over = 0;  // number of records; the last record that is over
  std::map<std::size_t, Time> times;   // of records that are over
};

using Clock = std::chrono::steady_clock;

// Moves one copy after another, at a rate.
struct CopyEngine {
  Clock::time_point free{};

  Clock::time_point take(std::uint64_t bytes, double gbit) {
    const std::chrono::duration<double> seconds(static_cast<double>(bytes) * 8e-9 / gbit);
    return free = std::max(free, Clock::now()) + std::chrono::duration_cast<Clock::duration>(seconds);
  }
};

struct Stream {
  int device = 0;
  std::size_t who = 0;
  Time now;
  struct Work {
    Time host;  // of the enqueuing host
    std::function<void(Stream&)> run;
    std::shared_ptr<Event> event{};  // of a wait: until this record is over
    std::size_t record = 0;
    std::shared_ptr<StreamWork> others{};  // of another library
    bool begun = false;
    CopyEngine* engine = nullptr;  // of a timed copy
    std::uint64_t bytes = 0;
    Clock::time_point until{};
  };
  std::deque<Work> queue;
  bool captures = false;  // into a graph, which never runs
  long captured = 0;
};

// A loan of memory to a message library. Returned loans are reused.
struct Loan {
  std::size_t who = 0;
  Time now;
  bool open = false;
};

struct Faults {
  long skip_wait = -1, lie = -1, lose = -1;
  long waits = 0, unready = 0, calls = 0, copies = 0;
  std::map<int, long> launches;  // by operation
};

class Emulator {
 public:
  std::mutex mutex;
  EmulatedMemory memory;
  std::map<void*, std::shared_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Stream>> destroyed;  // may have work left, as with CUDA
  std::map<void*, std::shared_ptr<Event>> events;
  Faults faults[kMostDevices];
  std::mt19937_64 random{1};
  bool plain = number("STRETTO_EMULATED_PLAIN", 0) != 0;
  const int copy_gbit = number("STRETTO_EMULATED_COPY_GBIT", 0);
  CopyEngine to_host[kMostDevices], to_device[kMostDevices];
  int stalled = -1;
  int refuses_memory = -1;    // the device that refuses
  std::size_t everybody = 0;  // streams, hosts and loans so far
  std::vector<Loan> loans;
  long lent = 0;

  // Counts a call on the device. 0, or the error of a lost device.
  int call(int device) {
    Faults& f = faults[device];
    const long n = f.calls++;
    return f.lose >= 0 && n >= f.lose ? kLost : 0;
  }

  bool any_lost() const {
    return std::any_of(std::begin(faults), std::end(faults),
                       [](const Faults& f) { return f.lose >= 0 && f.calls >= f.lose; });
  }

  std::shared_ptr<Stream> stream(void* handle, int device) {
    if (handle) {
      const auto at = streams.find(handle);
      return at == streams.end() ? nullptr : at->second;
    }
    auto& legacy = legacy_[device];
    if (!legacy) legacy = make_stream(device);
    return legacy;
  }
  std::shared_ptr<Stream> make_stream(int device) {
    auto s = std::make_shared<Stream>();
    s->device = device;
    s->who = everybody++;
    all_.push_back(s);
    return s;
  }

  void enqueue(Stream& s, std::function<void(Stream&)> run, std::shared_ptr<Event> event = nullptr,
               std::size_t record = 0) {
    add(s, {host(), std::move(run), std::move(event), record});
  }
  void add(Stream& s, Stream::Work work) {
    if (s.captures) {
      ++s.captured;
      return;
    }
    s.queue.push_back(std::move(work));
    while (plain && step(s)) {
    }
  }

  // The host's clock; each call ticks. All threads count as one, since they synchronise about their devices;
  // ThreadSanitizer checks threads.
  Time& host() {
    if (!host_.known) host_ = {true, everybody++, {}};
    host_.now.tick(host_.who);
    return host_.now;
  }

  // Restarts numbering when nothing with a number is left, since each Time is as long as the numbers used.
  void number_anew() {
    const auto open = [](const Loan& l) { return l.open; };
    if (!streams.empty() || !events.empty() || !memory.empty() || std::any_of(loans.begin(), loans.end(), open)) return;
    for (auto& s : legacy_) s.reset();
    all_.clear();
    loans.clear();
    everybody = 0;
    host_ = {};
  }

  // Runs one piece of a stream's work; false if none can run.
  bool step(Stream& s) {
    if (s.queue.empty()) return false;
    Stream::Work& w = s.queue.front();
    if (w.event && w.event->over < w.record) return false;
    if (!w.begun) {
      s.now.learn(w.host);
      if (w.event) s.now.learn(w.event->times[w.record]);
      s.now.tick(s.who);
      w.begun = true;
      if (w.engine) w.until = w.engine->take(w.bytes, copy_gbit);
    }
    if (w.engine && Clock::now() < w.until) return false;
    if (w.others && !w.others->go_on(memory, {s.who, s.now, "a library"})) return false;
    if (w.run) w.run(s);
    s.queue.pop_front();
    return true;
  }

  // Runs a little of a device's work.
  void go_on(int device) {
    if (device == stalled) return;
    // A wait is redundant if the host has already seen the end of the work. The device is slow until the wait to skip
    // has come, so that this is rare, however slow host threads are.
    const Faults& f = faults[device];
    if (f.skip_wait >= f.waits && random() % 16 != 0) return;
    std::erase_if(all_, [](const std::weak_ptr<Stream>& s) { return s.expired(); });
    mine_.clear();
    for (const auto& s : all_)
      if (auto of = s.lock(); of->device == device) mine_.push_back(std::move(of));
    for (const auto& of : mine_) {
      while (copy_gbit > 0 && step(*of)) {
      }
    }
    for (int pieces = static_cast<int>(random() % 4); pieces > 0 && !mine_.empty(); --pieces)
      step(*mine_[random() % mine_.size()]);
    mine_.clear();
  }

  // Runs all work of a stream, and all work that it waits for.
  void finish(Stream& s) {
    while (!s.queue.empty()) {
      if (step(s)) continue;
      for (auto& other : all_)
        if (const auto o = other.lock()) step(*o);
    }
  }
  void finish_all(int device) {
    for (const auto& s : all_)
      if (const auto of = s.lock(); of && of->device == device) finish(*of);
  }

 private:
  struct Host {
    bool known = false;
    std::size_t who = 0;
    Time now;
  };

  std::shared_ptr<Stream> legacy_[kMostDevices];
  Host host_;
  std::vector<std::weak_ptr<Stream>> all_;
  std::vector<std::shared_ptr<Stream>> mine_;  // of go_on
};

Emulator& emulator() {
  static auto* const e = new Emulator;  // threads may outlive a destructor
  return *e;
}

// Runs body(emulator) alone, and counts a call of the current device.
template <class Body>
int on_device(Body body) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  const int error = e.call(current);
  return error ? error : body(e);
}

// on_device() for a stream, which must be of the current device.
template <class Body>
int on_stream(void* handle, Body body) {
  return on_device([&](Emulator& e) {
    const auto s = e.stream(handle, current);
    return !s || s->device != current ? kInvalidHandle : body(e, *s);
  });
}

const char* error_text(int error) {
  switch (error) {
    case kNoMemory: return "out of memory";
    case kInvalidValue: return "invalid argument";
    case kInvalidHandle: return "invalid resource handle";
    case kInvalidDevice: return "invalid device ordinal";
    case kNotSupported: return "operation not supported";
    case kLost: return "uncorrectable ECC error encountered";
  }
  return "an emulated error";
}

int device_count(int* count) {
  *count = number("STRETTO_EMULATED_DEVICES", 1);
  return 0;
}
int current_device(int* device) {
  *device = current;
  return 0;
}
int use_device(int device) {
  current = device;
  return 0;
}

int locate(const void* p, Location* where) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  *where = e.memory.locate(p);
  if (e.plain && where->kind == MemoryKind::host && reinterpret_cast<std::uintptr_t>(p) % 128 != 64)
    where->kind = MemoryKind::device;
  return 0;
}

int allocate(MemoryKind kind, u64 bytes, void** p) {
  return on_device([&](Emulator& e) {
    *p = e.refuses_memory == current ? nullptr : e.memory.allocate(kind, current, bytes);
    return *p ? 0 : kNoMemory;
  });
}

// Waits for all streams of the device, as CUDA does. After the loss of a device no rank knows when its peers have read
// its memory for the last time, and work of the lost device may still be queued: then memory stays until the next
// order.
int release(MemoryKind, void* p) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  e.finish_all(current);
  std::erase_if(e.destroyed, [](const auto& s) { return s->queue.empty(); });
  const bool released = e.any_lost() ? e.memory.retire(p) : e.memory.release(p);
  return released ? 0 : kInvalidValue;
}

int create_stream(void** stream) {
  return on_device([&](Emulator& e) {
    const auto s = e.make_stream(current);
    *stream = s.get();
    e.streams[s.get()] = s;
    return 0;
  });
}
int destroy_stream(void* stream) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  const auto at = e.streams.find(stream);
  if (at == e.streams.end()) return kInvalidHandle;
  e.destroyed.push_back(at->second);
  e.streams.erase(at);
  return 0;
}
int create_event(void** event) {
  return on_device([&](Emulator& e) {
    const auto made = std::make_shared<Event>();
    *event = made.get();
    e.events[made.get()] = made;
    return 0;
  });
}
int destroy_event(void* event) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  return e.events.erase(event) ? 0 : kInvalidHandle;
}
int stream_device(void* stream, int* device) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  const auto s = e.stream(stream, current);
  if (!s) return kInvalidHandle;
  *device = s->device;
  return 0;
}
int stream_captures(void* stream, int* captures) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  const auto s = e.stream(stream, current);
  if (!s) return kInvalidHandle;
  *captures = s->captures;
  return 0;
}

int record(void* event, void* stream) {
  return on_stream(stream, [&](Emulator& e, Stream& s) {
    const auto at = e.events.at(event);
    const std::size_t n = ++at->recorded;
    e.enqueue(s, [at, n](Stream& self) {
      at->times[n] = self.now;
      at->over = n;
    });
    return 0;
  });
}

int wait(void* stream, void* event) {
  return on_stream(stream, [&](Emulator& e, Stream& s) {
    const auto at = e.events.at(event);
    Faults& f = e.faults[current];
    if (f.waits++ != f.skip_wait) e.enqueue(s, nullptr, at, at->recorded);
    return 0;
  });
}

int is_over(void* event, int* over) {
  return on_device([&](Emulator& e) {
    e.go_on(current);
    const auto at = e.events.at(event);
    *over = at->over == at->recorded;
    Faults& f = e.faults[current];
    if (*over)
      e.host().learn(at->times[at->over]);
    else if (f.unready++ == f.lie)
      *over = 1;
    return 0;
  });
}

int copy(void* to, const void* from, u64 bytes, void* stream) {
  return on_stream(stream, [&](Emulator& e, Stream& s) {
    Stream::Work work{e.host(), nullptr};
    work.run = [=, &e](Stream& self) {
      e.memory.touch(from, bytes, false, {self.who, self.now, "a copy"});
      e.memory.touch(to, bytes, true, {self.who, self.now, "a copy"});
      std::memmove(e.memory.real(to), e.memory.real(from), bytes);
    };
    const bool comes = e.memory.locate(from).kind != MemoryKind::device;
    const bool goes = e.memory.locate(to).kind != MemoryKind::device;
    e.faults[s.device].copies += !comes && !goes;
    if (e.copy_gbit > 0 && comes != goes) {
      work.engine = comes ? &e.to_device[current] : &e.to_host[current];
      work.bytes = bytes;
    }
    e.add(s, std::move(work));
    return 0;
  });
}
int clear(void* to, u64 bytes, void* stream) {
  return on_stream(stream, [&](Emulator& e, Stream& s) {
    e.enqueue(s, [=, &e](Stream& self) {
      e.memory.touch(to, bytes, true, {self.who, self.now, "a clearing"});
      std::memset(e.memory.real(to), 0, bytes);
    });
    return 0;
  });
}

int workspace_bytes(codec::cuda::StreamOperation, codec::cuda::Type, u64 count, u64* bytes) {
  *bytes = codec::cuda::emulated_workspace_bytes(count);
  return 0;
}

std::size_t size_of(codec::cuda::Type t) {
  return t == codec::cuda::Type::f64 ? 8 : t == codec::cuda::Type::f32 ? 4 : 2;
}

void run_kernel(Emulator& e, Stream& s, Arguments a) {
  using codec::cuda::StreamOperation;
  const Visitor kernel{s.who, s.now, "a kernel of the codec"};
  const std::size_t values = a.count * size_of(a.type), codes = a.count * (size_of(a.type) == 8 ? 8 : 4);
  if (a.a.base) e.memory.touch(a.a.base, a.a.room, false, kernel);
  if (a.b.base) e.memory.touch(a.b.base, a.b.room, false, kernel);
  if (a.x) e.memory.touch(a.x, values, false, kernel);
  if (a.codes) e.memory.touch(a.codes, codes, false, kernel);
  if (a.y) {
    const std::size_t y = a.operation == StreamOperation::decompress ? values
                          : a.operation == StreamOperation::range    ? 16
                                                                     : codes;
    e.memory.touch(a.y, y, true, kernel);
  }
  if (a.out) e.memory.touch(a.out, a.capacity, true, kernel);
  e.memory.touch(a.workspace, codec::cuda::emulated_workspace_bytes(a.count), true, kernel);
  e.memory.touch(a.result, sizeof(Result), true, kernel);
  if (a.host_result) e.memory.touch(a.host_result, sizeof(Result), true, kernel);
  a.a.base = e.memory.real(a.a.base);
  a.b.base = e.memory.real(a.b.base);
  a.x = e.memory.real(a.x);
  a.codes = e.memory.real(a.codes);
  a.y = e.memory.real(a.y);
  a.out = e.memory.real(a.out);
  a.workspace = e.memory.real(a.workspace);
  a.result = e.memory.real(a.result);
  if (codec::cuda::run_emulated(a) != 0) std::abort();
  if (a.host_result) *a.host_result = *a.result;
}

int launch(const Arguments& a) {
  return on_stream(a.stream, [&](Emulator& e, Stream& s) {
    ++e.faults[s.device].launches[static_cast<int>(a.operation)];
    e.enqueue(s, [&e, a](Stream& self) { run_kernel(e, self, a); });
    return 0;
  });
}

// Enqueues the function f of all places, which `with` selects. Unsupported functions are refused at once.
template <class With>
int on_values(const Values& v, With with) {
  const int kernel = with(v, [](auto) { return 0; });
  if (kernel) return kernel;
  return on_stream(v.stream, [&](Emulator& e, Stream& s) {
    e.enqueue(s, [&e, v, with](Stream& self) {
      const Visitor visitor{self.who, self.now, "a kernel of raw values"};
      const std::size_t bytes = payload::with_type(static_cast<payload::Type>(v.type), [&]<class T>() {
        if constexpr (std::is_void_v<T>)
          return std::size_t{0};
        else
          return v.count * sizeof(T);
      });
      e.memory.touch(v.left, bytes, false, visitor);
      if (v.right) e.memory.touch(v.right, bytes, false, visitor);
      e.memory.touch(v.out, bytes, true, visitor);
      Values real = v;
      real.left = e.memory.real(v.left);
      real.right = e.memory.real(v.right);
      real.out = e.memory.real(v.out);
      with(real, [&](auto at) {
        for (u64 i = 0; i < real.count; ++i) at(i);
        return 0;
      });
    });
    return 0;
  });
}

int combine_values(const Values& v) {
  return on_values(v, [](const Values& of, auto run) { return with_combination(of, run); });
}
int negate_values(const Values& v) {
  return on_values(v, [](const Values& of, auto run) { return with_negation(of, run); });
}
int divide_values(const Values& v) {
  return on_values(v, [](const Values& of, auto run) { return with_division(of, run); });
}

int reaches(int device, int peer, int* reaches) {
  *reaches = device != peer && number("STRETTO_EMULATED_PEERS", 1) != 0;  // CUDA says no for a device and itself
  return 0;
}
int allow_access(int peer) { return peer == current ? kInvalidDevice : 0; }

int export_memory(void* base, MemoryHandle* handle) {
  if (number("STRETTO_EMULATED_IPC", 1) == 0) return kNotSupported;
  return on_device([&](Emulator& e) { return e.memory.lend(base, handle) ? 0 : kInvalidValue; });
}
int import_memory(const MemoryHandle& handle, void** base) {
  if (number("STRETTO_EMULATED_IPC", 1) == 0) return kNotSupported;
  return on_device([&](Emulator& e) {
    *base = e.memory.borrow(handle, current);
    return *base ? 0 : kInvalidValue;
  });
}
int end_import(void* base) { return release(MemoryKind::device, base); }

std::size_t lend(Emulator& e, void* p, std::size_t bytes, bool writes, void** real) {
  ++e.lent;
  auto at = std::find_if(e.loans.begin(), e.loans.end(), [](const Loan& l) { return !l.open; });
  if (at == e.loans.end()) at = e.loans.insert(at, Loan{e.everybody++, {}, false});
  at->open = true;
  at->now.learn(e.host());
  at->now.tick(at->who);
  e.memory.touch(p, bytes, writes, {at->who, at->now, "a message"});
  *real = e.memory.real(p);
  return static_cast<std::size_t>(at - e.loans.begin());
}

void give_back(Emulator& e, std::size_t loan) {
  e.loans[loan].open = false;
  e.host().learn(e.loans[loan].now);
}

// Implementations of Emulation.
template <class Body>
auto alone(Body body) {
  Emulator& e = emulator();
  const std::lock_guard lock(e.mutex);
  return body(e);
}

void reset(std::uint64_t seed) {
  alone([&](Emulator& e) {
    e.random.seed(seed);
    for (Faults& f : e.faults) f = {};
    e.memory.forget();
    e.lent = 0;
    e.refuses_memory = e.stalled = -1;
    e.number_anew();
  });
}

int enqueue_work(void* stream, std::shared_ptr<StreamWork> work) {
  return on_stream(stream, [&](Emulator& e, Stream& s) {
    e.add(s, {e.host(), nullptr, nullptr, 0, std::move(work)});
    return 0;
  });
}

void capture(void* stream, bool begins) {
  alone([=](Emulator& e) {
    Stream& s = *e.stream(stream, current);
    s.captures = begins;
    s.captured = begins ? 0 : s.captured;
  });
}

constexpr Emulation kEmulation = {
    reset,
    [](int d, long n) { alone([=](Emulator& e) { e.faults[d].skip_wait = n; }); },
    [](int d, long n) { alone([=](Emulator& e) { e.faults[d].lie = n; }); },
    [](int d, long n) { alone([=](Emulator& e) { e.faults[d].lose = n < 0 ? n : e.faults[d].calls + n; }); },
    [](int d) { return alone([=](Emulator& e) { return e.faults[d].waits; }); },
    [](int d) { return alone([=](Emulator& e) { return e.faults[d].unready; }); },
    [](int d) { return alone([=](Emulator& e) { return e.faults[d].calls; }); },
    [] { return alone([](Emulator& e) { return e.memory.races(); }); },
    [] { return alone([](Emulator& e) { return e.memory.first_race().c_str(); }); },
    [](bool pinned) {
      return alone([=](Emulator& e) { return e.memory.held(pinned ? MemoryKind::pinned : MemoryKind::device); });
    },
    [](int d) { alone([=](Emulator& e) { e.stalled = d; }); },
    [](int d) { alone([=](Emulator& e) { e.refuses_memory = d; }); },
    [](int d, int operation) { return alone([=](Emulator& e) { return e.faults[d].launches[operation]; }); },
    [](int d) { return alone([=](Emulator& e) { return e.faults[d].copies; }); },
    [](void* p, std::size_t n, bool w, void** real) {
      return alone([=](Emulator& e) { return lend(e, p, n, w, real); });
    },
    [](std::size_t loan) { alone([=](Emulator& e) { give_back(e, loan); }); },
    [] { return alone([](Emulator& e) { return e.lent; }); },
    enqueue_work,
    [](const std::function<void()>& body) { alone([&](Emulator&) { body(); }); },
    capture,
    [](void* stream) { return alone([=](Emulator& e) { return e.stream(stream, current)->captured; }); },
};

}  // namespace
}  // namespace stretto::device

#pragma GCC visibility push(default)
extern "C" const stretto::device::Plugin* stretto_cuda_plugin() {
  using namespace stretto::device;
  static const Plugin plugin = {static_cast<u32>(number("STRETTO_EMULATED_VERSION", kPluginVersion)),
                                error_text,
                                device_count,
                                current_device,
                                use_device,
                                locate,
                                allocate,
                                release,
                                create_stream,
                                destroy_stream,
                                create_event,
                                destroy_event,
                                stream_device,
                                stream_captures,
                                record,
                                wait,
                                is_over,
                                copy,
                                clear,
                                workspace_bytes,
                                launch,
                                combine_values,
                                negate_values,
                                divide_values,
                                reaches,
                                allow_access,
                                export_memory,
                                import_memory,
                                end_import};
  return &plugin;
}

extern "C" const stretto::device::Emulation* stretto_cuda_emulation() { return &stretto::device::kEmulation; }
#pragma GCC visibility pop
