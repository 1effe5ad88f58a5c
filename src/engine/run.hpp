// One collective in flight on one rank: the state of each unit of its plan, and what to do next.
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
#include "payload/pool.hpp"
#include "payload/worker.hpp"

namespace stretto::engine {

using Clock = std::chrono::steady_clock;

// Memory that must stay alive while a transfer lasts.
struct Hold {
  payload::Buffer buffer;
  payload::Stream stream;
};

constexpr bool receives(Task task) noexcept { return task == Task::receive_replace || task == Task::receive_combine; }

// Marks on the wire. A failed rank sends one byte, its status, in place of a message, or an empty message where the proper
// one is itself one byte long. An absent contribution travels as one zero byte in place of its stream.
constexpr std::byte absent_mark{0};

// Receives of streams are posted with room for what compress() may write; sums of many values off the grid can be longer
// than that. Such a message is announced by a notice in its place, and follows under the same tag.
constexpr std::uint64_t notice_mark = 0xFE;  // its first byte; streams begin with another
struct Notice {
  std::uint64_t mark = 0;
  std::uint64_t bytes = 0;
};

// Between devices a message is announced by one of the host: this word, and the length of each part, 0 where it is absent. Or by the mark
// of a failed rank; then nothing crosses.
constexpr std::uint64_t announcement_mark = 0xFD;
constexpr std::size_t announcement_bytes(std::uint32_t parts) noexcept { return sizeof(std::uint64_t) * (1 + parts); }

// Number of messages to a peer that may overtake a message that is earlier in the schedule. A peer receives from a rank
// in the schedule's order. Some transports hold a limited number of unexpected messages (libfabric's over TCP: 64) and
// then read no further, so no more may precede the awaited message.
constexpr std::uint32_t most_ahead = 32;

// In the id of a transfer: it is a notice, not the message.
constexpr std::uint32_t notice_bit = 0x80000000u;

// Bit of a transfer's number: it is a message between devices, or a part of one.
constexpr std::uint32_t crossing_bit = 0x40000000u;

class Run {
 public:
  // Checks that fail on every rank alike.
  static Status check(const Work& call, const carrier::Carrier& carrier);

  // Plans a call that is checked. `slot` goes into the ids of its transfers, `sequence` into their tags. On failure nothing
  // has moved and the run is not active.
  Status begin(const Work& call, carrier::Carrier& carrier, payload::Pool& pool, std::uint32_t slot,
               std::uint64_t sequence) noexcept;

  // Posts the first receives. Until then nothing moves.
  void go() noexcept;
  bool going() const noexcept { return going_; }

  // Runs that it waits for to go have moved: the limit counts from now on.
  void waits_for_others() noexcept { moved_ = Clock::now(); }

  std::uint64_t sequence() const noexcept { return sequence_; }
  bool active() const noexcept { return active_; }
  bool ended() const noexcept { return left_ == 0; }

  // Executes at most `budget` units of these lanes that are ready; true when there was one.
  bool advance(int budget, Lanes taken) noexcept;

  // True while units of the lane before the work are left.
  bool leads() const noexcept { return left_before_ > 0 && !ended(); }

  // True while messages between devices are still to begin. Such messages begin once no earlier run has any left.
  bool crosses() const noexcept { return next_crossing_ < crossings_.size(); }
  void may_cross(bool may) noexcept { may_cross_ = may; }

  // Those that have ended, of whatever run. Asks the device; *n is 0 where the run has none.
  void poll_crossings(std::span<carrier::Completion> done, std::size_t* n) noexcept;

  // The transfer of `unit` (the lower half of the completion's id) has ended.
  void complete(std::uint32_t unit, const carrier::Completion& completion) noexcept;

  // True if nothing has happened for the time that the call allows.
  bool overdue(Clock::time_point now) const noexcept;

  // The caller was elsewhere for this long. Does not count against the limit where it is a good part of it: nobody looked.
  void pause(Clock::duration time) noexcept;

  // ok, or incompatible: a message that has come shows that its sender calls differently. Asks the carrier.
  Status compare_calls() noexcept;

  // True if this rank cannot keep its side of the schedule because a transfer did not begin, so that others wait for it in vain.
  bool stranded() const noexcept { return stranded_; }
  Status status() const noexcept { return status_; }
  const char* text() const noexcept { return text_.data(); }

  // Ends the run with `status`: withdraws its transfers; memory that the carrier may still touch goes to `lost`.
  void give_up(Status status, const char* text, std::vector<Hold>* lost) noexcept;

  // For example: allreduce ring (raw) of f32 by sum, rank 1.
  std::string what_runs() const;

  // Names the missing ranks and the steps that wait for them, after a wait of `seconds`.
  std::string diagnosis(double seconds) const;

  // Where the device's codec was at work meanwhile, that is what took the time.
  void waited(double seconds) noexcept {
    if (device_ == nullptr || device_->open() == 0) wait_seconds_ += seconds;
  }
  double timeout() const noexcept { return options_.timeout; }

  // True if a device works for this run: a device does not notify, so it must be polled.
  bool polls() const noexcept { return device_ != nullptr; }

  // After the end: the result, with its message set, and the report. The run is inactive then and its buffers are back.
  Status finish(Report* report) noexcept;

 private:
  // returns: a receive that has borrowed its message, whose sender does not have it back yet.
  enum class State : std::uint8_t { waiting, ready, posted, arrived, moving, returns, done };
  struct Live {
    State state = State::waiting;
    std::uint32_t waits_for = 0;
    bool early = false;  // released before its transfer ended
    int transfers = 0;   // of a send, or between devices, not ended
    std::uint32_t crossing = none;
    Hold hold;
    std::size_t bytes = 0;  // arrived
    Notice notice;
  };
  struct Queue {  // receives from one peer that need a buffer, in order
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    int open = 0;  // posted and not consumed
  };

  struct Ready {  // units in order of becoming ready; from `next` on
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

  struct Sends {                       // to one peer, by their numbers
    std::uint32_t first = 0;           // of those that have not begun
    std::uint32_t ahead = 0;           // begun beyond it
    std::vector<std::uint32_t> held;   // ready, and too far ahead: a heap of numbers, the least on top
    std::vector<std::uint8_t> begun;   // by number
    std::vector<std::uint32_t> units;  // by number
  };

  // On a device (run_device.cpp): a message on its way to pinned memory.
  struct Part {
    std::uint32_t segment = 0;
    const std::byte* data = nullptr;  // null: an absent contribution
    payload::Buffer keeps;
    std::size_t bytes = 0;
    carrier::Loan loan;  // of a receive that borrows
  };
  struct Departure {
    std::uint32_t unit = 0;
    std::vector<Part> parts;
    payload::Buffer staging;
    std::size_t bytes = 0;
    device::Moment staged;  // or packed, where it crosses
    bool fixed = true;      // no unit writes the memory that is sent
  };

  // A message between devices (run_crossings.cpp). A part for each cell.
  struct Crossing {
    enum class State : std::uint8_t { open, ready, begun, none };  // none: it is not to be, or has ended
    std::uint32_t unit = 0;
    std::uint64_t turn = 0;
    State state = State::open;
    bool announced = false;  // the host's message has ended
    bool drops = false;      // a receive of a rank that has failed
    bool borrows = false;    // a receive without memory
    std::vector<Part> parts;
    device::Moment free;  // from then on no lane uses the memory of a receive, nor reads a borrowed message
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
  void enter_lane(std::uint32_t cell) noexcept;
  Status same_lane(std::uint32_t a, std::uint32_t b) const noexcept;
  Status collect(const Unit& unit, Departure* departure) noexcept;
  Status depart(std::uint32_t unit) noexcept;
  Status stage(Departure& departure) noexcept;
  bool advance_departure(Departure& departure) noexcept;
  Status close_unit(Status so_far, const payload::Buffer& arrived = {}, device::Moment* after = nullptr) noexcept;
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
  // Like cell(), and the worker's next operations are for this cell.
  payload::Cell& touch(std::uint32_t cell) noexcept {
    if (device_ != nullptr) enter_lane(cell);
    return at(cell);
  }
  payload::Pool& homes() noexcept { return device_ != nullptr ? device_->device().pool(0) : *pool_; }
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
  std::vector<Block> blocks_;
  std::vector<const void*> inputs_;
  std::vector<const std::byte*> parts_;  // of the inputs, for one cell
  bool several_ = false;
  bool reduces_ = false;
  bool negates_ = false;
  bool from_stream_ = false;
  std::uint32_t contributions_ = 1;

  Plan plan_;
  payload::Worker worker_;
  std::vector<std::uint8_t> merged_;
  std::vector<payload::Cell> cells_;
  std::vector<std::uint8_t> unloaded_;  // input cells whose contribution must be worked out at the first touch
  payload::Buffer scratch_;             // homes of blocks that the caller has no memory for
  payload::Buffer inputs_copy_;         // of inputs that results would overwrite
  std::vector<Live> live_;
  std::vector<Queue> queues_;                      // by peer
  std::vector<std::uint32_t> receives_;            // units, grouped by peer
  std::vector<Sends> sends_;                       // by peer
  std::array<Ready, schedule::lane_count> ready_;  // by lane
  Ready deliveries_;                               // results: done while nothing else is to do
  std::size_t left_ = 0;                           // units not done, and the device
  std::size_t left_before_ = 0;                    // units before the work that are not done

  std::unique_ptr<device::Executor> executor_;
  device::Executor* device_ = nullptr;  // null: of the host
  std::optional<void*> stream_;
  bool leaves_early_ = false;
  bool ending_ = false;
  std::vector<Departure> departures_;
  device::Moment last_;
  double codec_seconds_ = 0;  // with operations under way, as far as the host looked
  Clock::time_point looked_{};

  carrier::DeviceMessages* between_ = nullptr;  // null: no messages cross
  std::vector<Crossing> crossings_;             // in the order in which they begin
  std::size_t next_crossing_ = 0;               // all before have begun, or are not to be
  std::vector<std::uint32_t> ready_crossings_;  // where they begin in any order
  std::vector<std::uint8_t> exchanges_;         // by unit: it waits for a send of its own level
  std::vector<std::uint32_t> returning_;        // units whose loans go back when the device has read them
  bool may_cross_ = true;
  std::vector<carrier::DeviceTransfer> group_;

  Status status_ = Status::ok;
  bool stranded_ = false;
  std::array<char, 512> text_{};  // as long as a message; in memory of its own, since it may be memory that is missing
  std::byte mark_{};              // sent in place of each message that a failed rank owes
  Clock::time_point begun_{};
  Clock::time_point moved_{};  // last time anything happened
  double wait_seconds_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace stretto::engine
