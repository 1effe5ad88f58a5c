// Whoever moves the data of a decided call: schedules of ours, the MPI's own collectives, those of a node's memory. One interface.
//
// A call's way to a backend: select/decide.hpp chooses it among those that serve() the call. A blocking call that needs no word with the other
// ranks run()s at once, and what prepare() makes of it is kept for equal calls (api/prepared.hpp). Other calls start() when their turn has come,
// or run() where the backend only blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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
using select::Served;

// A collective that was started.
class Pending {
 public:
  // Of one that is not complete: leaves its buffers to the system for as long as it runs, or waits for it.
  virtual ~Pending() = default;
  // *ran: filled in when it is complete, by backends that count what they send.
  virtual Status test(bool* done, engine::Report* ran) noexcept = 0;

  // Waits to the end, giving the core away, where the backend does that by itself: true, and *ended is its status. Else nothing has happened.
  virtual bool wait(Status* ended, engine::Report* ran) noexcept {
    static_cast<void>(ended);
    static_cast<void>(ran);
    return false;
  }
};

// A call without arrays and functions of the user's, put down once for all that differ from it in their buffers alone.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  // As Backend::run(), with the buffers of Call and the seconds of timeout_of(). Every instruction here counts, and every line of code
  // and data: where the system below enters the kernel, all are cold at the next call.
  virtual Status run(const void* send, void* recv, double timeout) noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // In reports, and as a schedule that is forced; null: reports name the schedule that ran. Static storage.
  virtual const char* name() const noexcept = 0;

  // Whether it computes just what `call` asks for with values as they are, by what all ranks agree on: the same answer on every rank once
  // the counts of gatherv and scatterv are known to all.
  virtual bool serves(const Call& call) const noexcept = 0;

  // Whether a call runs by start() and Pending; else by run(), which waits for as long as it takes.
  virtual bool starts(const Call& call) const noexcept = 0;

  // Precondition of both: the backend serves the call, and `decision`, complete or made for values as they are, says so. Every rank uses the same
  // backend, and all ranks call in the same order. The buffers of `call` are borrowed until the end; so is `call` by start(). run() fills in
  // *ran where bytes are counted. A backend has the one of the two that starts() names.
  virtual Status run(const Call& call, const Decision& decision, engine::Report* ran) noexcept;
  virtual Status start(const Call& call, const Decision& decision, std::unique_ptr<Pending>* pending) noexcept;

  // Values as they are; `other_copy` as of select::Choice. Valid as long as this is. Null: there is no such form of it, or no memory.
  virtual std::unique_ptr<PreparedCall> prepare(const Shape& shape, bool other_copy) noexcept = 0;
};

inline Status Backend::run(const Call& call, const Decision&, engine::Report*) noexcept {
  return fail(Status::internal, "{} is started, it does not block", schedule::name(call.collective));
}

inline Status Backend::start(const Call& call, const Decision&, std::unique_ptr<Pending>*) noexcept {
  return fail(Status::internal, "{} blocks, it cannot be started", schedule::name(call.collective));
}

// Those of a host's shared memory, where an agreement costs far less than an exchange of what is agreed on.
class NodeBackend : public Backend {
 public:
  // Whether all ranks gave the same value. Every rank calls it, in order with collectives. incompatible: another did something else; the
  // memory serves nothing from then on.
  virtual Status agree(std::uint64_t value, double timeout, bool* same) noexcept = 0;

  // Whether it also serves `call` with its values as streams, within its bound and by a payload that it allows. The same answer on every
  // rank; true where serves() is. Results are those of the engine under that payload.
  virtual bool streams(const Call& call) const noexcept = 0;

  // Whether it makes a difference for such a call how private buffers are copied: through slots, or by the kernel (Choice::other_copy). The
  // same answer on every rank. Values and order are the same.
  virtual bool other_copy(const Call& call) const noexcept = 0;

  // Ends the use of the memory on every rank, with `status` and this thread's message.
  virtual void give_up(Status status) noexcept = 0;

  // A nonblocking collective was started: ranks that block instead are told so.
  virtual void started() noexcept = 0;

  // Whether the memory ended since ranks called different collectives there without an agreement: what they gave and took is uncertain.
  virtual bool differed() const noexcept = 0;

  // All ranks know that they called differently. True: that ended the use of the memory, which serves nothing from now on.
  virtual bool look_again() noexcept = 0;
};

// The backends of a communicator.
struct Backends {
  std::unique_ptr<Backend> schedules;
  std::unique_ptr<Backend> mpi;  // null: there is none
  std::unique_ptr<NodeBackend> node;
  std::string no_node;  // why not

  Served serve(const Call& c) const noexcept {
    const bool by_node = node && node->serves(c);
    return {mpi && mpi->serves(c), by_node, node && node->streams(c), by_node && node->other_copy(c)};
  }
  Backend& of(Provider p) const noexcept {
    switch (p) {
      case Provider::schedules: break;
      case Provider::mpi: return *mpi;
      case Provider::node: return *node;
    }
    return *schedules;
  }
};

}  // namespace stretto::backend
