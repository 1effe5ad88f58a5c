// NCCL's C interface for ranks that are threads with emulated devices (emulated_plugin.cpp). It promises no more than
// NCCL: a message begins when both sides have begun, and nothing is buffered; a communicator's operations run one after
// another, whatever their streams; messages of one group move together; a nonblocking communicator is slow. Undefined
// behaviour of NCCL is an error here: sides of different lengths, two ranks on one device, host memory.
#include "emulated_nccl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/raw_values.hpp"
#include "device/loader.hpp"
#include "emulated.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::device {
namespace {

using modules::nccl::Config;
using modules::nccl::Op;
using modules::nccl::Result;
using modules::nccl::Type;
using modules::nccl::UniqueId;

const Emulation& emulation() {
  static const Emulation* const found = [] {
    const char* name = std::getenv("STRETTO_CUDA_PLUGIN");
    void* library = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    void* symbol = library ? dlsym(library, kEmulationSymbol) : nullptr;
    if (!symbol) std::abort();
    return reinterpret_cast<const Emulation* (*)()>(symbol)();
  }();
  return *found;
}

std::size_t size_of(Type t) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[static_cast<int>(t)];
}

payload::Type payload_type(Type t) {
  using payload::Type;
  constexpr Type types[] = {Type::i8,  Type::u8,  Type::i32, Type::u32, Type::i64,
                            Type::u64, Type::f16, Type::f32, Type::f64, Type::bf16};
  return types[static_cast<int>(t)];
}
payload::Op payload_op(Op op) {
  constexpr payload::Op ops[] = {payload::Op::sum, payload::Op::prod, payload::Op::max, payload::Op::min,
                                 payload::Op::mean};
  return ops[static_cast<int>(op)];
}

struct Rank;

// One side of a message.
struct Side {
  void* data;
  std::size_t bytes;
  int peer;
  bool sends;
  bool done = false;
};

enum class What { all_reduce, reduce, reduce_scatter, all_gather, broadcast };

// One rank's part of a collective.
struct Part {
  What what;
  const void* in;
  void* out;
  std::size_t count;
  Type type;
  Op op;
  int root;
};

// Work that one rank enqueues at once: messages, or a collective.
class Work final : public StreamWork {
 public:
  explicit Work(std::shared_ptr<Rank> of) : rank(std::move(of)) {}
  bool go_on(EmulatedMemory& memory, const Visitor& stream) override;

  std::shared_ptr<Rank> rank;
  std::vector<Side> sides;
  std::optional<Part> part;
  bool begun = false, over = false, mute = false;
  std::size_t who = 0;
  Time now;

 private:
  bool go_on_messages(EmulatedMemory& memory);
  bool go_on_collective(EmulatedMemory& memory);
};

struct World {
  std::vector<std::shared_ptr<Rank>> ranks;
  std::vector<int> devices;
  int size = 0, come = 0;
};

struct Rank {
  std::shared_ptr<World> world;
  int rank = 0;
  bool blocks = true, aborted = false;
  Result error = Result::success;
  std::string text;
  std::deque<std::shared_ptr<Work>> queue;  // unfinished, in order of beginning
  struct Launch {
    std::shared_ptr<Work> work;
    void* stream;
  };
  std::deque<Launch> launches;       // in progress
  int delay = 0;                     // queries until launches begin
  long groups = 0, collectives = 0;  // enqueued
  bool met = true;                   // launches need no other rank's call

  void fail(Result r, const std::string& why) {
    if (error != Result::success) return;
    error = r;
    text = why;
  }
};

struct Faults {
  int mute_rank = -1, fail_rank = -1, away = -1;
  long mute = -1, fail = -1;
};

struct Emulated {
  std::map<std::string, std::shared_ptr<World>> worlds;
  std::map<Rank*, std::shared_ptr<Rank>> comms;
  Faults faults;
  long ids = 0, groups = 0, collectives = 0;
};
Emulated& emulated() {
  static auto* const e = new Emulated;
  return *e;
}

std::shared_ptr<Work> front(const Rank& r) { return r.queue.empty() ? nullptr : r.queue.front(); }

bool Work::go_on(EmulatedMemory& memory, const Visitor& stream) {
  if (over || rank->aborted || rank->error != Result::success) {
    std::erase_if(rank->queue, [this](const auto& w) { return w.get() == this; });
    return true;  // an abort ends kernels
  }
  if (front(*rank).get() != this) return false;
  if (!begun) {
    begun = !mute;
    who = stream.who;
    now = stream.now;
  }
  if (!begun) return false;
  over = part ? go_on_collective(memory) : go_on_messages(memory);
  if (over) rank->queue.pop_front();
  return over;
}

bool Work::go_on_messages(EmulatedMemory& memory) {
  bool all = true;
  for (Side& mine : sides) {
    if (mine.done) continue;
    const auto peer = front(*rank->world->ranks[static_cast<std::size_t>(mine.peer)]);
    Side* other = nullptr;
    if (peer && peer->begun && !peer->part) {
      for (Side& s : peer->sides)
        if (!other && !s.done && s.peer == rank->rank && s.sends != mine.sends) other = &s;
    }
    all = all && other;
    if (!other) continue;
    if (other->bytes != mine.bytes) {
      rank->fail(Result::invalid_usage, "two sides of a message have different lengths");
      peer->rank->fail(Result::invalid_usage, "two sides of a message have different lengths");
      return true;
    }
    Side& from = mine.sends ? mine : *other;
    Side& to = mine.sends ? *other : mine;
    const Work &sender = mine.sends ? *this : *peer, &receiver = mine.sends ? *peer : *this;
    memory.touch(from.data, from.bytes, false, {sender.who, sender.now, "a message of NCCL"});
    memory.touch(to.data, to.bytes, true, {receiver.who, receiver.now, "a message of NCCL"});
    std::memcpy(memory.real(to.data), memory.real(from.data), to.bytes);
    from.done = to.done = true;
  }
  if (all) ++emulated().groups;
  return all;
}

// The last rank to arrive does all work.
bool Work::go_on_collective(EmulatedMemory& memory) {
  const auto p = rank->world->ranks.size();
  std::vector<Work*> all;
  for (const auto& r : rank->world->ranks) {
    const auto w = front(*r);
    if (!w || !w->begun || !w->part || w->over) return false;
    all.push_back(w.get());
  }
  const Part& mine = *part;
  const std::size_t size = size_of(mine.type), n = mine.count * size;
  const bool scatters = mine.what == What::reduce_scatter, gathers = mine.what == What::all_gather;
  const std::size_t in = scatters ? p * n : n, out = gathers ? p * n : n;
  const auto takes_part = [&](std::size_t r, bool gives) {
    if (mine.what == What::broadcast && gives) return static_cast<int>(r) == mine.root;
    if (mine.what == What::reduce && !gives) return static_cast<int>(r) == mine.root;
    return true;
  };
  std::vector<std::vector<std::byte>> given(p);
  for (std::size_t r = 0; r < p; ++r) {
    if (!takes_part(r, true)) continue;
    const Work& w = *all[r];
    memory.touch(w.part->in, in, false, {w.who, w.now, "a collective of NCCL"});
    const auto* real = static_cast<const std::byte*>(memory.real(w.part->in));
    given[r].assign(real, real + in);
  }
  std::vector<std::byte> result;
  if (mine.what == What::broadcast) {
    result = given[static_cast<std::size_t>(mine.root)];
  } else if (gathers) {
    for (const auto& g : given) result.insert(result.end(), g.begin(), g.end());
  } else {
    result = given[0];
    for (std::size_t r = 1; r < p; ++r) {
      Values v{};
      v.operation = static_cast<u32>(payload_op(mine.op));
      v.type = static_cast<u32>(payload_type(mine.type));
      v.count = in / size;
      v.left = v.out = result.data();
      v.right = given[r].data();
      static_cast<void>(with_combination(v, [&](auto at) {
        for (u64 i = 0; i < v.count; ++i) at(i);
        return 0;
      }));
    }
  }
  for (std::size_t r = 0; r < p; ++r) {
    Work& w = *all[r];
    w.over = true;
    if (!takes_part(r, false)) continue;
    memory.touch(w.part->out, out, true, {w.who, w.now, "a collective of NCCL"});
    std::memcpy(memory.real(w.part->out), result.data() + (scatters ? r * n : 0), out);
  }
  for (const auto& r : rank->world->ranks)
    if (r != rank) r->queue.pop_front();
  ++emulated().collectives;
  return true;
}

// This thread's calls between group_start and group_end.
struct Group {
  int depth = 0;
  std::vector<std::pair<Rank*, Side>> sides;
  void* stream = nullptr;
};
thread_local Group group;

template <class Body>
auto alone(Body body) {
  std::optional<decltype(body())> result;
  emulation().alone([&] { result = body(); });
  return *result;
}

bool captures(void* stream) {
  const Plugin* plugin = nullptr;
  int found = 0;
  return find_plugin(&plugin) == stretto::Status::ok && plugin->stream_captures(stream, &found) == 0 && found != 0;
}

// Every third call a nonblocking communicator reports progress; for a collective until all ranks have called it.
Result enqueue(Rank* comm, std::shared_ptr<Work> work, void* stream) {
  if (captures(stream))  // captured in a graph, which never runs
    return emulation().enqueue(stream, work) == 0 ? Result::success : Result::unhandled_cuda_error;
  std::shared_ptr<Rank> r;
  const Result bad = alone([&] {
    const auto at = emulated().comms.find(comm);
    if (at == emulated().comms.end()) return Result::invalid_argument;
    r = at->second;
    if (r->error != Result::success) return r->error;
    if (r->delay > 0) return Result::invalid_argument;  // before the last operation is enqueued
    work->rank = r;
    const long n = r->groups++;
    const Faults& f = emulated().faults;
    if (f.fail_rank == r->rank && n >= f.fail && f.fail >= 0)
      r->fail(Result::remote_error, "an emulated network fails");
    work->mute = f.mute_rank == r->rank && n >= f.mute && f.mute >= 0;
    r->delay = r->blocks || n % 3 != 0 ? 0 : 3;
    r->met = !work->part;
    if (work->part) ++r->collectives;
    return Result::success;
  });
  if (bad != Result::success) return bad;
  if (r->delay > 0) {
    r->launches.push_back({std::move(work), stream});
    return Result::in_progress;
  }
  emulation().alone([&] { r->queue.push_back(work); });
  return emulation().enqueue(stream, work) == 0 ? Result::success : Result::unhandled_cuda_error;
}

}  // namespace
}  // namespace stretto::device

#pragma GCC visibility push(default)
extern "C" {

using namespace stretto::device;

Result ncclGetVersion(int* version) {
  const char* other = std::getenv("STRETTO_EMULATED_NCCL_VERSION");
  *version = other ? std::atoi(other) : 22809;
  return Result::success;
}

Result ncclGetUniqueId(UniqueId* id) {
  *id = {};
  const long n = alone([] { return ++emulated().ids; });
  std::strncpy(id->internal, ("emulated " + std::to_string(n)).c_str(), sizeof id->internal - 1);
  return Result::success;
}

Result ncclCommGetAsyncError(Rank* comm, Result* error) {
  std::shared_ptr<Rank> r;
  *error = alone([&] {
    r = emulated().comms.at(comm);
    if (r->error != Result::success) return r->error;
    if (r->world->come < r->world->size) return Result::in_progress;
    const auto behind = [&](const auto& other) { return other->collectives < r->collectives; };
    r->met = r->met || std::none_of(r->world->ranks.begin(), r->world->ranks.end(), behind);
    return r->delay > 0 ? Result::in_progress : Result::success;
  });
  if (*error != Result::in_progress || r->delay == 0 || !r->met || --r->delay > 0) return Result::success;
  while (!r->launches.empty()) {
    const Rank::Launch l = r->launches.front();
    r->launches.pop_front();
    emulation().alone([&] { r->queue.push_back(l.work); });
    if (emulation().enqueue(l.stream, l.work) != 0) *error = Result::unhandled_cuda_error;
  }
  return Result::success;
}

Result ncclCommInitRankConfig(Rank** comm, int ranks, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || rank < 0 || rank >= ranks) return Result::invalid_argument;
  int device = 0;
  const Plugin* plugin = nullptr;
  if (find_plugin(&plugin) != stretto::Status::ok) return Result::unhandled_cuda_error;
  static_cast<void>(plugin->current_device(&device));
  const bool blocks = config->blocking != 0;
  const auto made = std::make_shared<Rank>();
  emulation().alone([&] {
    auto& world = emulated().worlds[id.internal];
    if (!world) {
      world = std::make_shared<World>();
      world->ranks.resize(static_cast<std::size_t>(ranks));
      world->size = ranks;
    }
    made->world = world;
    made->rank = rank;
    made->blocks = blocks;
    emulated().comms[made.get()] = made;
    world->ranks[static_cast<std::size_t>(rank)] = made;
    if (emulated().faults.away == rank) return;
    world->devices.push_back(device);
    ++world->come;
    bool twice = false;
    for (std::size_t i = 0; i + 1 < world->devices.size(); ++i) twice = twice || world->devices[i] == device;
    for (const auto& r : world->ranks)
      if (twice && r) r->fail(Result::invalid_usage, "Duplicate GPU detected");
  });
  *comm = made.get();
  Result now = Result::in_progress;
  while (blocks && now == Result::in_progress) {
    static_cast<void>(ncclCommGetAsyncError(*comm, &now));
    std::this_thread::yield();
  }
  return now;
}

Result ncclCommFinalize(Rank*) { return Result::success; }

Result ncclCommAbort(Rank* comm) {
  emulation().alone([&] {
    const auto at = emulated().comms.find(comm);
    if (at == emulated().comms.end()) return;
    at->second->aborted = true;
    emulated().comms.erase(at);
  });
  return Result::success;
}
Result ncclCommDestroy(Rank* comm) { return ncclCommAbort(comm); }

const char* ncclGetErrorString(Result r) {
  constexpr const char* texts[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return texts[static_cast<int>(r)];
}
const char* ncclGetLastError(Rank* comm) { return comm->text.c_str(); }

Result ncclGroupStart() {
  ++group.depth;
  return Result::success;
}

Result ncclGroupEnd() {
  if (--group.depth > 0 || group.sides.empty()) return Result::success;
  Rank* const comm = group.sides.front().first;
  auto work = std::make_shared<Work>(nullptr);
  for (const auto& [of, side] : group.sides) {
    if (of != comm) std::abort();  // not emulated
    work->sides.push_back(side);
  }
  group.sides.clear();
  return enqueue(comm, std::move(work), group.stream);
}

static Result message(Rank* comm, const Side& side, Type type, void* stream) {
  if (type != Type::u8) return Result::invalid_argument;
  const Plugin* plugin = nullptr;
  Location at{};
  if (find_plugin(&plugin) != stretto::Status::ok || plugin->locate(side.data, &at) != 0 ||
      at.kind != MemoryKind::device)
    return Result::invalid_argument;
  const bool alone_in_group = group.depth == 0;
  if (alone_in_group) static_cast<void>(ncclGroupStart());
  group.sides.emplace_back(comm, side);
  group.stream = stream;
  return alone_in_group ? ncclGroupEnd() : Result::success;
}

Result ncclSend(const void* data, std::size_t count, Type type, int peer, Rank* comm, void* stream) {
  return message(comm, {const_cast<void*>(data), count, peer, true}, type, stream);
}
Result ncclRecv(void* data, std::size_t count, Type type, int peer, Rank* comm, void* stream) {
  return message(comm, {data, count, peer, false}, type, stream);
}

static Result collective(Rank* comm, const Part& part, void* stream) {
  auto work = std::make_shared<Work>(nullptr);
  work->part = part;
  return enqueue(comm, std::move(work), stream);
}

Result ncclAllReduce(const void* in, void* out, std::size_t n, Type type, Op op, Rank* comm, void* stream) {
  return collective(comm, {What::all_reduce, in, out, n, type, op, 0}, stream);
}
Result ncclReduce(const void* in, void* out, std::size_t n, Type type, Op op, int root, Rank* comm, void* stream) {
  return collective(comm, {What::reduce, in, out, n, type, op, root}, stream);
}
Result ncclReduceScatter(const void* in, void* out, std::size_t n, Type type, Op op, Rank* comm, void* stream) {
  return collective(comm, {What::reduce_scatter, in, out, n, type, op, 0}, stream);
}
Result ncclAllGather(const void* in, void* out, std::size_t n, Type type, Rank* comm, void* stream) {
  return collective(comm, {What::all_gather, in, out, n, type, Op::sum, 0}, stream);
}
Result ncclBroadcast(const void* in, void* out, std::size_t n, Type type, int root, Rank* comm, void* stream) {
  return collective(comm, {What::broadcast, in, out, n, type, Op::sum, root}, stream);
}

const NcclEmulation* stretto_nccl_emulation() {
  static constexpr NcclEmulation kTable = {
      [] {
        emulation().alone([] {
          emulated().faults = {};
          emulated().groups = emulated().collectives = 0;
        });
      },
      [](int rank, long n) {
        emulation().alone([=] {
          emulated().faults.mute_rank = rank;
          emulated().faults.mute = n;
          for (auto& [key, r] : emulated().comms) r->groups = 0;
        });
      },
      [](int rank, long n) {
        emulation().alone([=] {
          emulated().faults.fail_rank = rank;
          emulated().faults.fail = n;
          for (auto& [key, r] : emulated().comms) r->groups = 0;
        });
      },
      [](int rank) { emulation().alone([=] { emulated().faults.away = rank; }); },
      [] { return alone([] { return emulated().groups; }); },
      [] { return alone([] { return emulated().collectives; }); },
      [] { return alone([] { return static_cast<long>(emulated().comms.size()); }); },
  };
  return &kTable;
}

}  // extern "C"
#pragma GCC visibility pop
