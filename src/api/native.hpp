// The collectives that the system below a communicator has of its own (an MPI's), as one interface: what they serve, run and
// started. They move values as they are and combine them exactly as that system does; those of a host's memory may also move streams.
//
// The way of a call to one: prospect_of() (plan.hpp) asks serves() and lets the choice be made. Where it falls on a native
// collective and nothing needs to be agreed on, go_straight() (straight.hpp) calls run(), and keeps what repeat() makes of it, so that an
// equal call goes there without any of this. Otherwise an Operation runs or starts it when its turn has come.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/collective.hpp"
#include "base/status.hpp"
#include "engine/engine.hpp"
#include "model/profile.hpp"
#include "payload/payload.hpp"

namespace stretto::api {

// Where a schedule is forced or reported: the name of an MPI's own collectives, and that of those in a host's shared memory.
inline constexpr const char* native_name = "native";
inline constexpr const char* node_name = "node";

class Native {
 public:
  // A collective that was started.
  class Pending {
   public:
    virtual ~Pending() =
        default;  // of one that is not complete: leaves its buffers to the system for as long as it runs
    virtual Status test(bool* done) noexcept = 0;
  };

  // A call without arrays and functions of the user's, put down once for all that differ from it in their buffers alone.
  class Repeated {
   public:
    virtual ~Repeated() = default;
    // As Native::run(), with the buffers of Call and the seconds of timeout_of(). Every instruction here counts, and every line of code
    // and data: where the system below enters the kernel, all are cold at the next call.
    virtual Status run(const void* send, void* recv, double timeout) noexcept = 0;
  };

  virtual ~Native() = default;

  // In reports, and as a schedule that is forced. Static storage.
  virtual const char* name() const noexcept = 0;

  // Whether it computes just what `call` asks for, by what all ranks agree on: the same answer on every rank once the counts
  // of gatherv and scatterv are known to all.
  virtual bool serves(const Call& call) const noexcept = 0;

  // Precondition of both: serves(call). Every rank uses the same one, and all ranks call in the same order. run() waits for as
  // long as it takes. start(): the buffers of `call` are borrowed until the end, `call` itself is not.
  virtual Status run(const Call& call) noexcept = 0;
  virtual Status start(const Call& call, std::unique_ptr<Pending>* pending) noexcept = 0;

  // Precondition: serves() a call of this shape. Valid as long as this is. Null: it has counts, or there is no memory.
  virtual std::unique_ptr<Repeated> repeat(const Shape& shape) noexcept = 0;
};

// Those of a host's shared memory, where an agreement costs far less than an exchange of what is agreed on.
class NodeNative : public Native {
 public:
  // Whether all ranks gave the same value. Every rank calls it, in order with collectives. incompatible: another did something else; the
  // memory serves nothing from then on.
  virtual Status agree(std::uint64_t value, double timeout, bool* same) noexcept = 0;

  // Whether it also serves `call` with its values as streams, within its bound and by a payload that it allows. The same answer on every
  // rank; true where serves() is.
  virtual bool streams(const Call& call) const noexcept = 0;

  // run() with streams. Precondition: streams(call); `spec`, the same on every rank, is fused or homomorphic. Results are those of the
  // engine under that spec. *report: what this rank put into shared memory, raw and as streams, and its time in the codec.
  virtual Status run_streams(const Call& call, const payload::Spec& spec, engine::Report* report) noexcept = 0;

  // The same collectives, but that they copy private buffers the other way (through slots, or by the kernel); and whether that makes a
  // difference for such a call, which run() serves. The same answer on every rank. Values and order are the same.
  virtual Native& otherwise() noexcept = 0;
  virtual bool differs_otherwise(const Call& call) const noexcept = 0;

  // Ends the use of the memory on every rank, with `status` and this thread's message.
  virtual void give_up(Status status) noexcept = 0;

  // A nonblocking collective was started: ranks that block instead are told so.
  virtual void started() noexcept = 0;

  // Whether the memory ended since ranks called different collectives there without an agreement: what they gave and took is uncertain.
  virtual bool differed() const noexcept = 0;

  // All ranks know that they called differently. True: that ended the use of the memory, which serves nothing from now on.
  virtual bool look_again() noexcept = 0;
};

// Which native collectives serve a call.
struct Served {
  constexpr Served(bool by_mpi, bool by_node = false, bool by_streams = false, bool by_both_copies = false) noexcept
      : mpi(by_mpi), node(by_node), streams(by_streams), otherwise(by_both_copies) {}  // NOLINT: a bool says enough
  bool mpi, node;
  bool streams;    // by the node's, within a bound
  bool otherwise;  // by the node's, with another way to copy
  constexpr bool any() const noexcept { return mpi || node; }
  constexpr bool by(model::Provider p) const noexcept { return p == model::Provider::node ? node : mpi; }
};

// The native collectives of a communicator.
struct Natives {
  std::unique_ptr<Native> mpi;  // null: there are none
  std::unique_ptr<NodeNative> node;
  std::string no_node;  // why not

  Served serve(const Call& c) const noexcept {
    const bool by_node = node && node->serves(c);
    return {mpi && mpi->serves(c), by_node, node && node->streams(c), by_node && node->differs_otherwise(c)};
  }
  Native* of(model::Provider p, bool otherwise = false) const noexcept {
    if (p != model::Provider::node) return mpi.get();
    return otherwise ? &node->otherwise() : node.get();
  }
};

// Whether a forced schedule is a native collective, and whose.
std::optional<model::Provider> forced_native(const Call& call) noexcept;

}  // namespace stretto::api
