// Runs one rank's schedule over its blocks, as a payload, over a carrier. All ranks start the same runs in the same
// order. Testing or awaiting any request lets all runs progress. One thread at a time uses an engine. Several drivers
// may share a split schedule's run, each for some lanes (Engine::take).
//
// A failed rank keeps its side of the schedule: it receives messages, and sends a mark for each that it owes. So each
// dependent rank gets an error that names it, nothing hangs, and the engine stays usable. After `timeout` seconds
// without progress the run ends with Status::timeout, the missing ranks and their steps, and the engine refuses further
// runs.
//
// A rank that cannot keep its side (no memory to begin a run, or to pass a message on) raises an alarm (carrier.hpp):
// on all ranks that run and later ones end with its status and message. Earlier runs continue; a second alarm ends
// them, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/progress/driven.hpp"
#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "carrier/device_messages.hpp"
#include "codec/codec.hpp"
#include "engine/words.hpp"
#include "payload/payload.hpp"
#include "schedule/schedule.hpp"

namespace stretto::device {
class Device;
}

namespace stretto::engine {

struct Lanes {
  bool before = true, beside = true, after = true;
};

struct Options {
  std::size_t segment_bytes = std::size_t{256} << 10;  // raw bytes, equal on every rank; 0: do not cut
  int window = 8;                                      // receives of streams posted ahead per peer
  double timeout = 60;                                 // seconds without progress; <= 0: no limit
};

// In elements. Null: the caller has no such block. in and out may overlap.
struct Block {
  std::size_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
};

struct Part {
  std::size_t count = 0;
  double eps = 0;
};

// `blocks` and `schedule` are copied; the caller's buffers must live until the run's end.
struct Work {
  std::shared_ptr<const schedule::Schedule> schedule;
  payload::Spec payload;
  std::vector<Block> blocks;  // schedule->blocks many (binding.hpp)
  Options options;

  // Arguments::parts, with an eps each. None: payload.eps everywhere.
  std::vector<Part> parts;

  // With `several` this rank contributes the combination (sum, mean, min, max) of `inputs`, whole vectors, perhaps none
  // for sum and mean; Block::in is ignored. Compressed payloads combine them as codes, so the result does not depend on
  // their distribution. `contributions`, the inputs of all ranks, divides a mean.
  bool several = false;
  std::vector<const void*> inputs;
  std::uint32_t contributions = 0;

  // Holds the blocks; borrowed for exclusive use. Null: host memory. Messages have equal bytes.
  device::Device* device = nullptr;
  int lanes = 0;  // for segments, in turns; 0: device::kUsualLanes
  // If every rank's blocks are on a device, on all ranks or none; borrowed while the engine lives. Null: through pinned
  // host memory.
  carrier::DeviceMessages* messages = nullptr;
  // A stream of the device: the run comes after work enqueued there at its begin, and before work enqueued after its
  // end. With `leaves_early` a run ends once its
  // last work is enqueued; Device::late() then has its status. Without a stream the inputs must be ready.
  std::optional<void*> stream;
  bool leaves_early = false;
};

struct Report {
  std::array<char, 64> algorithm{};  // a run's end may lack memory
  payload::Kind payload = payload::Kind::raw;
  std::uint64_t raw_bytes = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t segments = 0;
  double compress_seconds = 0;  // on a device: while a codec is at work, as the host sees
  double decompress_seconds = 0;
  double combine_seconds = 0;
  double wait_seconds = 0;  // idle for a transfer; on a device without a codec at work
  double total_seconds = 0;
  std::uint32_t contributions = 0;  // inputs per result value
  double promised_error = 0;        // error_factor * eps
  double ratio() const noexcept { return bytes_sent ? double(raw_bytes) / double(bytes_sent) : 1.0; }
};

std::uint32_t most_messages(const carrier::Carrier& carrier) noexcept;

// A run without a schedule: the caller starts the messages of each round.
struct ShortRun {
  const char* what = "";        // in messages; static storage
  std::uint64_t number = 0;     // of pass()
  std::uint64_t signature = 0;  // of the arguments, equal on all ranks
  double timeout = 60;          // seconds of a round; <= 0: no limit
};

// At most one in each direction between two ranks in a run.
struct ShortMessage {
  int peer = -1;
  bool sends = false;
  void* data = nullptr;
  std::size_t bytes = 0;          // equal on both ranks
  std::size_t* length = nullptr;  // of a message that may be shorter: sent, or received

  std::size_t sent() const noexcept { return length != nullptr ? *length : bytes; }
};

class Engine;
class Run;

// Destruction waits for the run's end.
class Request {
 public:
  Request() noexcept = default;
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();

  bool active() const noexcept { return run_ != nullptr || words_ != nullptr; }

  // Steps of Lane::before are left.
  bool leads() const noexcept;

  // *done: the run has ended with the returned status. An inactive request is done, ok.
  Status test(bool* done, Report* report = nullptr) noexcept;

  Status wait(Report* report = nullptr) noexcept;

 private:
  friend class Engine;
  Engine* engine_ = nullptr;
  Run* run_ = nullptr;  // one of both, or none
  WordRun* words_ = nullptr;
};

class Engine {
 public:
  explicit Engine(carrier::Carrier& carrier);  // borrowed
  ~Engine();                                   // ends the runs in flight
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  carrier::Carrier& carrier() noexcept;

  // invalid_argument, invalid_bound and unsupported: equal on all ranks, and nothing has moved.
  Status run(const Work& call, Report* report = nullptr) noexcept;

  // The engine must outlive the request. `number`: that of words which differed between ranks, on all ranks; else the
  // next.
  static constexpr std::uint64_t kNext = ~std::uint64_t{0};
  Status start(const Work& call, Request* request, std::uint64_t number = kNext) noexcept;

  // A run whose messages fit any word: ranks may call differently. Precondition: route_words().
  Status start(const Words& words, Request* request) noexcept;

  // Close ranks; equal on all ranks.
  void route_words(const schedule::Groups& groups);

  // The latest run's number.
  std::uint64_t latest() const noexcept;

  Status progress() noexcept;

  // Driven in long waits, since their peers may wait for this rank. Borrowed; must never call this engine.
  void drive_beside(Driven& others) noexcept;

  // Used by later runs; borrowed while the engine lives. Null: none.
  void share_codec(const codec::Parallel* parallel) noexcept;

  // Lanes of later start(), progress() and Request::test(); initially all. run() and wait() take all.
  void take(Lanes lanes) noexcept;

  // Changes when a run has progressed.
  std::uint64_t moves() const noexcept;

  // Leaves runs from number `from` on, and tells all others. Needs no memory.
  void give_up(Status status, const char* why, std::uint64_t from = kNext) noexcept;

  // Blocks until all messages are through. A failure ends this run and all later ones; unless it is a timeout, others
  // are told. The carrier may then access the messages' memory as long as it lives.
  static constexpr std::size_t kMostShortMessages = 16;
  Status exchange(const ShortRun& run, std::span<const ShortMessage> messages) noexcept;

  // No further run starts, as far as this rank knows.
  bool broken() const noexcept;

  // Counts a run elsewhere; every rank calls it at the same place among its runs.
  std::uint64_t pass() noexcept;

  // Why run `number` and later ones do not end: a given-up wait, or another rank's alarm.
  Status usable(std::uint64_t number) noexcept;

  // Excludes memory for words (8 KiB for each concurrent agreement); trim() frees idle memory.
  std::size_t pooled_bytes() const noexcept;
  void trim() noexcept;

 private:
  friend class Request;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stretto::engine
