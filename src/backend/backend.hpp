// Backends move the data of decided calls: by schedules, the MPI's own collectives, or a node's shared memory. A
// blocking call without agreement run()s at once, and prepare() keeps it. Other calls start() in their turn, or run()
// if the backend only blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"

namespace stretto::backend {

using call::Call;
using call::Collective;
using call::Shape;
using select::Decision;
using select::Provider;
using select::Support;

class Pending {
 public:
  // An incomplete call waits, or leaves its buffers to the system meanwhile.
  virtual ~Pending() = default;
  // Lead steps are left (schedule::Lane).
  virtual bool leads() const noexcept { return false; }
  // No later call may start its data.
  virtual bool holds_up() const noexcept { return false; }
  // *ran is filled if the backend counts the bytes it sends.
  virtual Status test(bool* done, engine::Report* ran) noexcept = 0;

  // Gives the core away until the end, with the status in *ended. False: nothing has happened.
  virtual bool wait(Status* ended, engine::Report* ran) noexcept {
    static_cast<void>(ended);
    static_cast<void>(ran);
    return false;
  }
};

// All calls that differ only in their buffers; no arrays nor user's functions.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  // Backend::run() with other buffers and timeout. Touches few cache lines, since all are cold after a system call.
  virtual Status run(const void* send, void* recv, double timeout) noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Null: reports name the schedule. Static.
  virtual const char* name() const noexcept = 0;

  // With raw values. Depends only on arguments that are equal on all ranks, once all know the counts of gatherv and
  // scatterv.
  virtual bool serves(const Call& call) const noexcept = 0;

  virtual bool starts(const Call& call) const noexcept = 0;

  // A started call must wait for earlier calls of other backends, and for its own that hold up later calls.
  virtual bool in_turn() const noexcept { return false; }

  // `decision` names this backend and is complete, or made for raw values. Every rank uses this backend, in one order
  // of calls. Buffers are borrowed until the end, by start() also `call`. run() fills *ran if bytes are counted. A
  // backend implements start() for calls that it starts(), else run().
  virtual Status run(const Call& call, const Decision& decision, engine::Report* ran) noexcept;
  virtual Status start(const Call& call, const Decision& decision, std::unique_ptr<Pending>* pending) noexcept;

  // run() later, with `decision`; borrows the backend. Null: impossible, or no memory.
  virtual std::unique_ptr<PreparedCall> prepare(const Call& call, const Decision& decision) noexcept = 0;
};

inline Status Backend::run(const Call& call, const Decision&, engine::Report*) noexcept {
  return fail(Status::internal, "{} is started, it does not block", schedule::name(call.collective));
}

inline Status Backend::start(const Call& call, const Decision&, std::unique_ptr<Pending>*) noexcept {
  return fail(Status::internal, "{} blocks, it cannot be started", schedule::name(call.collective));
}

class Meeting : public Pending {
 public:
  virtual bool same() const noexcept = 0;
  // At the end: the levels that this rank's call did itself.
  virtual int split() const noexcept = 0;
  virtual void drive(engine::Lanes lanes) noexcept = 0;
  // Moves the steps before the work, which cores leave to the starting call until NodeBackend::end_lead(). True:
  // something moved.
  virtual bool move_lead() noexcept = 0;
};

class NodeBackend : public Backend {
 public:
  // *same: all ranks gave one value. incompatible: another rank called differently; the memory serves no more calls.
  // Collective.
  virtual Status agree(std::uint64_t value, double timeout, bool* same) noexcept = 0;

  // Streams serve `call`, too, within its bound and by an allowed payload, with the engine's results; implies serves().
  // Equal on every rank.
  virtual bool streams(const Call& call) const noexcept = 0;

  // serves(), even if the memory is no longer in use.
  virtual bool suits(const Call& call) const noexcept = 0;

  // Ends the memory's use on every rank, with `status` and this thread's message.
  virtual void give_up(Status status) noexcept = 0;

  // This memory runs the schedule's steps for the call's started form.
  virtual bool has_tree(const Call& call, std::string_view schedule) const noexcept = 0;

  // begin() moves the data: `decision` names this backend, or a schedule that it has. Equal on every rank.
  virtual bool moves(const Call& call, const Decision& decision) const noexcept = 0;

  // Begins a nonblocking call: compares `word`, if any, as agree() does; then, if `runs` and words are equal, moves the
  // data. Calls run in the order of begin(), equal on every rank, driven by their tests and waits, blocking calls of
  // this backend, and communication cores. A tree is split as all ranks want it, if they want the same. `call` and its
  // buffers are borrowed until the end.
  virtual Status begin(const Call& call, const Decision& decision, std::optional<std::uint64_t> word, bool runs,
                       std::unique_ptr<Meeting>* meeting) noexcept = 0;

  virtual void end_lead() noexcept = 0;

  // Informs ranks that block in a collective whose nonblocking form this rank started.
  virtual void started() noexcept = 0;

  // Ranks called differently without an agreement: the memory serves no more calls, and the moved data are undefined.
  virtual bool differed() const noexcept = 0;

  // In the memory, one word for all ranks, 0 until a carrier that announces in it has sent (Carrier::announce_in).
  virtual std::atomic<std::uint32_t>& messages_sent() noexcept = 0;

  // A function that names ranks whose processes have ended, for any thread, even after the backend's end.
  virtual std::function<std::string()> ended() const = 0;

  // Once all ranks know that they called differently. True: the memory serves nothing from now on.
  virtual bool look_again() noexcept = 0;
};

class NodesBackend : public Backend {
 public:
  // Raw sums inside hosts and streams between them serve `call`, too, within its bound.
  virtual bool streams(const Call& call) const noexcept = 0;

  // Few enough values to move without the engine's runs: exact ones, or blocks whose messages state their own bounds.
  virtual bool runs_at_once(const Call& call, const Decision& decision) const noexcept = 0;

  virtual void give_up(Status status) noexcept = 0;

  virtual std::function<std::string()> ended() const = 0;
};

struct Backends {
  std::unique_ptr<Backend> schedules;
  std::unique_ptr<Backend> mpi;
  std::unique_ptr<NodeBackend> node;
  std::unique_ptr<NodesBackend> nodes;
  std::string no_node;
  std::unique_ptr<Backend> device;

  Support serve(const Call& c) const noexcept {
    if (c.device != nullptr) return {device && device->serves(c), false, false};
    Support s{mpi && mpi->serves(c), node && node->serves(c), node && node->streams(c)};
    s.nodes = nodes && nodes->serves(c);
    s.nodes_streams = s.nodes && nodes->streams(c);
    return s;
  }
  Backend& of(Provider p) const noexcept {
    switch (p) {
      case Provider::schedules: break;
      case Provider::mpi: return *mpi;
      case Provider::device: return *device;
      case Provider::node:
        if (nodes) return *nodes;
        return *node;
    }
    return *schedules;
  }
};

}  // namespace stretto::backend
