// The state of one collective's units on one rank, and what runs next.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carrier/carrier.hpp"
#include "device/executor.hpp"
#include "engine/engine.hpp"
#include "engine/plan.hpp"
#include "engine/tags.hpp"
#include "payload/host_executor.hpp"
#include "payload/pool.hpp"
#include "payload/worker.hpp"

namespace stretto::engine {

using Clock = std::chrono::steady_clock;

// Memory that must outlive a transfer.
struct Hold {
  payload::Buffer buffer;
  payload::Stream stream;
};

constexpr bool receives(Task task) noexcept { return task == Task::receive_replace || task == Task::receive_combine; }

// A failed rank sends its status as one byte in place of a message, or nothing if the message has one byte. A zero byte
// in place of a stream is an absent contribution.
constexpr std::byte absent_mark{0};

// Receives of streams have room for compress(). Longer streams (sums of many values off the grid) follow a notice in
// their place, under the same tag.
constexpr std::uint64_t notice_mark = 0xFE;  // first byte; no stream has it
struct Notice {
  std::uint64_t mark = 0;
  std::uint64_t bytes = 0;
};

// Precedes a message between devices: this word and each part's length (0: absent), or a failed rank's mark, after
// which nothing crosses.
constexpr std::uint64_t announcement_mark = 0xFD;
constexpr std::size_t announcement_bytes(std::uint32_t parts) noexcept { return sizeof(std::uint64_t) * (1 + parts); }

// Messages to a peer that may overtake an earlier one in the schedule, whose order the peer follows. Some transports
// hold few unexpected messages (libfabric's over TCP: 64) and then stop reading.
constexpr std::uint32_t most_ahead = 32;

// In a transfer's id: a notice, not the message.
constexpr std::uint32_t notice_bit = 0x80000000u;

// In a transfer's number: a message between devices, or its part.
constexpr std::uint32_t crossing_bit = 0x40000000u;

class Run {
 public:
  // With equal results on every rank.
  static Status check(const Work& call, const carrier::Carrier& carrier);

  // Plans a checked call. `slot` is for its transfers' ids, `sequence` for their tags. On failure nothing has moved and
  // the run is inactive.
  Status begin(const Work& call, carrier::Carrier& carrier, payload::Pool& pool, const codec::Parallel* parallel,
               std::uint32_t slot, std::uint64_t sequence) noexcept;

  // Posts the first receives; nothing moves before.
  void go() noexcept;
  bool going() const noexcept { return going_; }

  // Resets the limit: runs that it waits for have moved.
  void waits_for_others() noexcept { moved_ = Clock::now(); }

  std::uint64_t sequence() const noexcept { return sequence_; }
  bool active() const noexcept { return active_; }
  bool ended() const noexcept { return left_ == 0; }

  // Executes up to `budget` ready units of these lanes; true if there was one.
  bool advance(int budget, Lanes taken) noexcept;

  bool leads() const noexcept { return left_before_ > 0 && !ended(); }

  // Messages between devices are to begin; earlier runs' come first.
  bool crosses() const noexcept { return next_crossing_ < crossings_.size(); }
  void may_cross(bool may) noexcept { may_cross_ = may; }

  void poll_crossings(std::span<carrier::Completion> done, std::size_t* n) noexcept;

  // `unit`: lower half of the completion's id.
  void complete(std::uint32_t unit, const carrier::Completion& completion) noexcept;

  bool overdue(Clock::time_point now) const noexcept;

  // The caller was away. Long absences do not count against the limit.
  void pause(Clock::duration time) noexcept;

  // ok, or incompatible: an arrived message's sender calls differently. Asks the carrier.
  Status compare_calls() noexcept;

  // A transfer did not begin, so others would wait in vain.
  bool stranded() const noexcept { return stranded_; }
  Status status() const noexcept { return status_; }
  const char* text() const noexcept { return text_.data(); }

  // Withdraws transfers; memory that the carrier may still touch goes to `lost`.
  void give_up(Status status, const char* text, std::vector<Hold>* lost) noexcept;

  // "allreduce ring (raw) of f32 by sum, rank 1".
  std::string what_runs() const;

  std::string diagnosis(double seconds) const;

  // Excludes time with the device's codec at work.
  void waited(double seconds) noexcept {
    if (device_ == nullptr || device_->open() == 0) wait_seconds_ += seconds;
  }
  double timeout() const noexcept { return options_.timeout; }

  bool polls() const noexcept { return device_ != nullptr; }

  // After the end: the status, with its message set, and the report. Deactivates the run and returns its buffers.
  Status finish(Report* report) noexcept;

 private:
  // returns: a receive whose borrowed message is not back at its sender.
  enum class State : std::uint8_t { waiting, ready, posted, arrived, moving, returns, done };
  struct Live {
    State state = State::waiting;
    std::uint32_t waits_for = 0;
    bool early = false;  // released before its transfer's end
    int transfers = 0;
    std::uint32_t crossing = none;
    Hold hold;
    std::size_t bytes = 0;
    Notice notice;
  };
  struct Queue {  // receives from a peer that need a buffer
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    int open = 0;
  };

  struct Ready {  // units in order of becoming ready, from `next` on
    std::vector<std::uint32_t> units;
    std::size_t next = 0;

    void begin(std::size_t most) {
      units.clear();
      units.reserve(most);
      next = 0;
    }
    void add(std::uint32_t unit) noexcept { units.push_back(unit); }
    bool some() const noexcept { return next < units.size(); }
    std::uint32_t take() noexcept { return units[next++]; }
  };

  struct Sends {
    std::uint32_t first = 0;
    std::uint32_t ahead = 0;
    std::vector<std::uint32_t> held;  // ready, but too far ahead: a min-heap
    std::vector<std::uint8_t> begun;
    std::vector<std::uint32_t> units;
  };

  struct Part {
    const payload::Lane* lane = nullptr;
    const std::byte* data = nullptr;  // null: an absent contribution
    payload::Buffer keeps;
    std::size_t bytes = 0;
    carrier::Loan loan;  // of a borrowing receive
  };
  struct Departure {
    std::uint32_t unit = 0;
    std::vector<Part> parts;
    payload::Buffer staging;
    std::size_t bytes = 0;
    device::LanePositions staged;  // staged, or packed for a crossing
    bool fixed = true;             // no unit writes the sent memory
  };

  struct Crossing {
    enum class State : std::uint8_t { open, ready, begun, none };  // none: cancelled or ended
    std::uint32_t unit = 0;
    std::uint64_t turn = 0;
    State state = State::open;
    bool announced = false;
    bool drops = false;
    bool borrows = false;
    std::vector<Part> parts;
    device::LanePositions free;  // afterwards no lane uses a receive's memory or a borrowed message
  };

  void queue_crossings();
  Status take_landing(std::uint32_t unit) noexcept;
  Status announce(Departure& departure) noexcept;
  bool land(std::uint32_t unit) noexcept;
  Status read_announcement(std::uint32_t unit) noexcept;
  void skip_crossing(std::uint32_t unit) noexcept;
  bool may_begin(const Crossing& crossing) const noexcept;
  bool begin_crossings() noexcept;
  bool begin_ready() noexcept;
  void ready_to_cross(std::uint32_t unit) noexcept;
  void find_exchanges();
  void begin_group(std::size_t first, std::size_t end) noexcept;
  void crossed(std::uint32_t unit, const carrier::Completion& completion) noexcept;
  Status consume_crossed(std::uint32_t unit, const Hold& hold) noexcept;
  Status consume_part(const Unit& unit, payload::Cell& cell, const Part& part) noexcept;
  bool may_borrow(std::uint32_t unit) const noexcept;
  Status borrow(const payload::Cell& cell, Part* part) noexcept;
  void keep_loans(std::uint32_t unit) noexcept;
  bool return_loans(std::uint32_t unit) noexcept;
  void end_crossings(std::vector<Hold>* lost) noexcept;

  Status begin_on_device(const Work& call);
  Status share_homes() noexcept;
  Status quantise_ahead() noexcept;
  Status enter_lanes() noexcept;
  std::uint32_t lanes_of(const Unit& unit) const noexcept;
  Status collect(const Unit& unit, Departure* departure) noexcept;
  Status depart(std::uint32_t unit) noexcept;
  Status stage(Departure& departure) noexcept;
  bool advance_departure(Departure& departure) noexcept;
  Status close_unit(Status so_far, const Unit& unit, const payload::Buffer& arrived,
                    device::LanePositions* after) noexcept;
  Status bring(payload::Stream* stream) noexcept;
  Status take_raw(payload::Cell& cell, const std::byte* arrived, const Unit& unit) noexcept;
  bool advance_device() noexcept;
  bool advance_units(int budget, Lanes taken) noexcept;
  void push_ready(std::uint32_t unit) noexcept { ready_[static_cast<std::size_t>(plan_.units[unit].lane)].add(unit); }
  void end_on_device(Status usable) noexcept;
  void leave_device() noexcept;

  Status prepare(const Work& call);
  Status tagged() noexcept;
  std::uint64_t signature() const noexcept;
  Status compare_call(const carrier::Arrival& arrival) noexcept;
  Status bind_memory(const Work& call);
  Status separate_inputs(const Work& call);
  Status load(payload::Cell& cell, std::uint32_t index) noexcept;
  std::uint64_t id_of(std::uint32_t unit) const noexcept { return std::uint64_t{slot_} << 32 | unit; }
  std::uint64_t tag_of(const Unit& unit) const noexcept;
  payload::Cell& at(std::uint32_t cell) noexcept { return cells_[plan_.cell(cell)]; }
  payload::Pool& homes() noexcept { return executor_->pool(); }
  std::size_t elements(const Unit& unit) const noexcept;
  std::size_t room_for(const Unit& unit) const noexcept;
  bool lands_in_place(const Unit& unit) const noexcept;

  void queue_receives();
  void queue_sends();
  void send_in_turn(std::uint32_t unit) noexcept;
  void begin_send(Sends& sends, std::uint32_t number) noexcept;
  void post_receives(std::int32_t peer) noexcept;
  void make_ready(std::uint32_t unit) noexcept;
  void execute(std::uint32_t unit) noexcept;
  Status execute_send(std::uint32_t unit) noexcept;
  Status execute_receive(std::uint32_t unit) noexcept;
  Status consume(std::uint32_t unit, const Hold& hold) noexcept;
  Status send_mark(std::uint32_t unit) noexcept;
  Status execute_local(const Unit& unit) noexcept;
  Status send_bytes(std::uint32_t unit, const void* data, std::size_t bytes, bool early) noexcept;
  Status pack_raw(const Unit& unit, Hold* hold, const std::byte** data, bool* early) noexcept;
  Status pack_streams(const Unit& unit, Hold* hold, const std::byte** data, std::size_t* bytes) noexcept;
  bool expect_long(std::uint32_t unit) noexcept;
  static Status failed_peer(std::int32_t peer, std::byte mark) noexcept;
  Status check_arrival(const Unit& unit, const std::byte* data, std::size_t bytes) noexcept;
  Status parse(const Unit& unit, const payload::Buffer& buffer, std::size_t bytes, std::size_t* offset, std::uint32_t i,
               payload::Stream* stream) noexcept;
  void sent(std::uint32_t unit) noexcept;
  void release(std::uint32_t unit) noexcept;
  void done(std::uint32_t unit) noexcept;
  void failed(Status status, const Unit* unit) noexcept;
  void say(std::string_view text) noexcept;
  void strand(Status status, const Unit* unit) noexcept;
  std::string where(const Unit& unit) const;
  bool under_way(std::uint32_t unit) const noexcept;
  bool departs(std::uint32_t unit) const noexcept;

  bool active_ = false;
  bool going_ = false;
  carrier::Carrier* carrier_ = nullptr;
  payload::Pool* pool_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t signature_ = 0;
  Tags tags_;

  std::shared_ptr<const schedule::Schedule> schedule_;
  payload::Spec spec_{};
  Options options_{};
  const codec::Parallel* parallel_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<const void*> inputs_;
  std::vector<const std::byte*> parts_;
  bool several_ = false;
  bool reduces_ = false;
  bool negates_ = false;
  bool from_stream_ = false;
  std::uint32_t contributions_ = 1;

  Plan plan_;
  payload::HostExecutor host_;
  payload::Executor* executor_ = nullptr;
  payload::Worker worker_;
  std::vector<std::uint8_t> merged_;
  std::vector<payload::Cell> cells_;
  std::vector<std::uint8_t> unloaded_;  // contributions computed at the first touch
  payload::Buffer scratch_;             // homes of blocks that the caller lacks
  payload::Buffer inputs_copy_;         // inputs that results would overwrite
  std::vector<Live> live_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> receives_;
  std::vector<Sends> sends_;
  std::array<Ready, schedule::lane_count> ready_;
  Ready deliveries_;  // delivered in idle time
  std::size_t left_ = 0;
  std::size_t left_before_ = 0;  // units of Lane::before to do

  std::unique_ptr<device::Executor> device_;  // null: host
  std::optional<void*> stream_;
  bool leaves_early_ = false;
  bool ending_ = false;
  std::vector<Departure> departures_;
  device::LanePositions last_;
  double codec_seconds_ = 0;
  Clock::time_point looked_{};

  carrier::DeviceMessages* between_ = nullptr;
  std::vector<Crossing> crossings_;
  std::size_t next_crossing_ = 0;
  std::vector<std::uint32_t> ready_crossings_;  // where any order is allowed
  std::vector<std::uint8_t> exchanges_;         // by unit: waits for a send of its own level
  std::vector<std::uint32_t> returning_;
  bool may_cross_ = true;
  std::vector<carrier::DeviceTransfer> group_;

  Status status_ = Status::ok;
  bool stranded_ = false;
  std::array<char, 512> text_{};  // memory may be lacking
  std::byte mark_{};
  Clock::time_point begun_{};
  Clock::time_point moved_{};
  double wait_seconds_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace stretto::engine
