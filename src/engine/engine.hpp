// Runs a schedule: one rank's steps over its blocks, as a payload, over a carrier.
//
// One execution core, driven by the caller: run() blocks; start() returns a Request that is tested or waited for. Several
// requests of an engine may be in flight; a test of, or a wait for, any of them lets all progress. All ranks start the same
// runs on an engine in the same order. An engine is used by one thread at a time; distinct engines are independent.
//
// A run of a split schedule may be driven by several, each of whom takes some lanes (Engine::take): the caller before its
// work, communication cores beside it. A caller that waits for a run takes all remaining lanes.
//
// Failure. A rank that fails (a corrupt stream, say) keeps its side of the schedule: in place of each message that it still
// owes it sends a mark that says so, and it takes in what others send. So each rank that depends on the failed one gets an
// error that names it, nobody hangs, and the engine stays usable. When a peer is silent for `timeout` seconds the run ends
// with Status::timeout and names who is missing at which step; after that the engine refuses further runs.
//
// A rank that cannot keep its side (it has no memory to begin a run that the others begin, or to pass a message to the carrier) raises an
// alarm instead (carrier.hpp). Ranks that wait for it receive the alarm soon: that run and later ones end with the failed rank's status,
// its number and its message, and no further run starts. Earlier runs go on. If a rank fails in one of them, too, a second alarm
// ends all runs in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/driven.hpp"
#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "carrier/device_messages.hpp"
#include "codec/codec.hpp"
#include "payload/payload.hpp"
#include "schedule/schedule.hpp"

namespace stretto::device {
class Device;
}

namespace stretto::engine {

// The lanes of a schedule whose steps a driver takes.
struct Lanes {
  bool before = true, beside = true, after = true;
};

struct Options {
  std::size_t segment_bytes = std::size_t{256} << 10;  // raw bytes of a segment; the same on every rank; 0: do not cut
  int window = 8;                                      // receives of streams posted ahead, a peer
  double timeout = 60;  // seconds of waiting without progress before a run is given up; <= 0: never
  const codec::Parallel* parallel = nullptr;  // for the codec; borrowed while runs last
};

// One block of the vector on this rank: elements, and where the caller keeps it (null: the caller has no such block there;
// the engine finds memory if the schedule needs some). in and out may be one address (in place), or overlap.
struct Block {
  std::size_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
};

// One collective on this rank. The engine copies `blocks` and `schedule`; the caller's buffers must live until the run has ended.
struct Work {
  std::shared_ptr<const schedule::Schedule> schedule;
  payload::Spec payload;
  std::vector<Block> blocks;  // schedule->blocks of them (see binding.hpp)
  Options options;

  // Several inputs on a rank (reductions with sum, mean, min, max). With `several`, this rank contributes the combination
  // of `inputs`, any number of vectors and possibly none (sum and mean only), each holding all blocks one after another;
  // Block::in is ignored. Compressed payloads combine them as codes, so who holds which input does not show in the
  // result. `contributions` is then the number of inputs of all ranks together (mean divides by it); else 0.
  bool several = false;
  std::vector<const void*> inputs;
  std::uint32_t contributions = 0;

  // Blocks in the memory of a device, which is borrowed while the run lasts and used by nobody else meanwhile. Null: they
  // are the host's. Messages are the same bytes either way.
  device::Device* device = nullptr;
  int lanes = 0;  // of the device that segments go to, in turns; 0: device::usual_lanes
  // How messages cross between devices, where every rank's blocks are in the memory of one; borrowed while the engine lives. Null:
  // through pinned memory of the host, as messages of the carrier. All ranks give it, or none does.
  carrier::DeviceMessages* messages = nullptr;
  // A stream of that device. The run comes after all work that is enqueued there when it begins, and before work that is
  // enqueued after its end. With `leaves_early` a run ends as soon as its last work is enqueued; Device::late() then gives
  // the status of that work. Without a stream the inputs must be ready.
  std::optional<void*> stream;
  bool leaves_early = false;
};

// Describes a run, filled in at its end.
struct Report {
  std::array<char, 64> algorithm{};  // its name; no memory is needed at the end of a run
  payload::Kind payload = payload::Kind::raw;
  std::uint64_t raw_bytes = 0;   // bytes of this rank's messages if they were raw values
  std::uint64_t bytes_sent = 0;  // bytes of this rank's messages as sent
  std::uint64_t messages_sent = 0;
  std::uint64_t segments = 0;   // streams (or raw pieces) the vector was cut into
  double compress_seconds = 0;  // on a device: all time in which a codec was at work, as far as the host saw
  double decompress_seconds = 0;
  double combine_seconds = 0;       // raw + raw, stream + stream, or raw + stream
  double wait_seconds = 0;          // nothing to do but wait for a transfer; on a device, and no codec at work there
  double total_seconds = 0;         // start to end
  std::uint32_t contributions = 0;  // inputs in each result value
  double promised_error = 0;        // error_factor * eps
  double ratio() const noexcept { return bytes_sent ? double(raw_bytes) / double(bytes_sent) : 1.0; }
};

// How many messages one rank may send another in a run.
std::uint32_t most_messages(const carrier::Carrier& carrier) noexcept;

class Engine;
class Run;

// A run in flight. Movable; when destroyed before its end it waits for it.
class Request {
 public:
  Request() noexcept = default;
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();

  bool active() const noexcept { return run_ != nullptr; }

  // True while steps of the lane before the work are left.
  bool leads() const noexcept;

  // Progress without waiting. *done: the run has ended (well or not), its status is returned, and the request is inactive.
  // An inactive request is done, ok.
  Status test(bool* done, Report* report = nullptr) noexcept;

  // Progress to the end.
  Status wait(Report* report = nullptr) noexcept;

 private:
  friend class Engine;
  Engine* engine_ = nullptr;
  Run* run_ = nullptr;
};

class Engine {
 public:
  explicit Engine(carrier::Carrier& carrier);  // borrowed
  ~Engine();                                   // ends the runs in flight
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  carrier::Carrier& carrier() noexcept;

  // Checks the call (invalid_argument, invalid_bound, unsupported: nothing has moved, nor has it on any other rank, since all give what
  // fails here alike), runs it to the end.
  Status run(const Work& call, Report* report = nullptr) noexcept;

  // Checks the call and begins it. The request must not outlive the engine.
  Status start(const Work& call, Request* request) noexcept;

  // Progress of all runs in flight, without waiting.
  Status progress() noexcept;

  // Sets the other communicators that a long wait drives from now on, since their peers may wait for this rank. Borrowed.
  // `others` never calls this engine.
  void drive_beside(Driven& others) noexcept;

  // Sets the lanes that start(), progress() and Request::test() take from here on; initially all. Engine::run() and
  // Request::wait() always take all lanes.
  void take(Lanes lanes) noexcept;

  // How often something happened so far: it differs where a run has moved.
  std::uint64_t moves() const noexcept;

  // This rank takes part in no run from number `from` on, at the latest in no further one; all others are told. Needs no memory.
  static constexpr std::uint64_t next = ~std::uint64_t{0};
  void give_up(Status status, const char* why, std::uint64_t from = next) noexcept;

  // True if this rank knows that no further run starts.
  bool broken() const noexcept;

  // The number of a run that takes place elsewhere: every rank asks for it at the same place among its runs.
  std::uint64_t pass() noexcept;

  // ok, or why run `number` does not end, nor any after it: a wait was given up, or another rank cannot go on, which is looked for now and
  // then.
  Status usable(std::uint64_t number) noexcept;

  // Bytes that the engine keeps for reuse; trim() gives idle ones back.
  std::size_t pooled_bytes() const noexcept;
  void trim() noexcept;

 private:
  friend class Request;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stretto::engine
