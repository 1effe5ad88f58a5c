// A schedule over blocks of known extents, cut into the units that the engine runs.
//
// A cell is one segment of one block in one buffer. A unit is one message, one local step, or one delivery of a result, over
// consecutive cells: a large block is cut into many units, small blocks of one range travel together. Sender and receiver
// cut alike, since the extents of blocks are the same on all ranks; cells without elements have no unit. The dependencies of a
// unit follow from the cells it touches, by the rule of schedule.hpp: a segment of a step starts when the same segments of
// the steps before it are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "engine/engine.hpp"

namespace stretto::engine {

constexpr std::uint32_t none = 0xFFFFFFFFu;

enum class Task : std::uint8_t { send, receive_replace, receive_combine, copy, combine, deliver };

struct Unit {
  Task task{};
  bool incoming_first = false;
  bool raw = true;  // a message of values as they are; false: of streams
  schedule::Lane lane = schedule::Lane::beside;
  std::uint16_t level = 0;
  std::int32_t peer = -1;
  std::uint32_t step = 0;          // of the schedule; deliver: none
  std::uint32_t message = 0;       // the how many-th to, or from, this peer
  std::uint32_t cells = 0;         // how many; 0: an empty message
  std::uint32_t dst = 0;           // first cell written (receive, copy, combine), or delivered
  std::uint32_t src = 0;           // first cell read (send, copy, combine)
  std::uint32_t waits_for = 0;     // units that must be released before this one starts
  std::uint32_t followers = none;  // head of a list in Plan::edges
};

struct Edge {
  std::uint32_t unit;  // that waits
  std::uint32_t next;
};

// Which messages are raw.
struct Travel {
  bool streams = false;       // false: all
  bool raw_inside = false;    // those over links inside a node
  std::size_t raw_below = 0;  // those of fewer elements than this
};

// Where a cell lies.
struct Place {
  schedule::Buffer buffer{};
  std::int32_t block = 0;
  std::size_t first = 0;   // elements of the block before it
  std::size_t count = 0;   // elements
  std::size_t before = 0;  // elements of the vector before it
};

class Plan {
 public:
  // `merged[b]`: in and out of block b are the same memory, so their cells are the same cells. Memory of an earlier plan is
  // reused. Segments are multiples of `grain` elements. Every rank gives the same `travel`. Throws std::bad_alloc.
  Status make(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
              std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged, const Travel& travel);

  // True if `unit` sends the final result of this cell, which every rank ends with.
  bool is_final(const Unit& unit, std::uint32_t cell) const noexcept;

  // The peer that most messages go to, or come from, and the elements in them.
  struct Pair {
    std::int32_t peer = 0;
    bool sends = false;
    std::size_t elements = 0;
  };
  Pair busiest() const noexcept;

  // The how many-th segment of its block a cell is.
  std::uint32_t segment(std::uint32_t cell) const noexcept {
    return cell % static_cast<std::uint32_t>(segments) - first_[static_cast<std::size_t>(places[cell].block)];
  }

  // The cell that represents cell i: cell i itself, or the cell of `out` that it is merged with.
  std::uint32_t cell(std::uint32_t i) const noexcept { return same_[i]; }

  std::vector<Unit> units;
  std::vector<Edge> edges;
  std::vector<Place> places;        // of cells
  std::size_t segments = 0;         // cells of one buffer
  std::uint32_t most_messages = 0;  // to or from one peer

 private:
  struct Touch {
    std::uint32_t writer = none;
    std::uint32_t readers = none;  // list in readers_
  };
  struct Cells {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void lay_out(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
               std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged);
  Status add_step(const schedule::Schedule& schedule, std::uint32_t step);
  void add_deliveries(const schedule::Schedule& schedule);
  bool travels_raw(const schedule::Step& step) const noexcept;
  void find_finals(const schedule::Schedule& schedule);
  std::uint32_t take(Cells* left, std::size_t most_elements) const noexcept;
  Cells cells_of(const schedule::Range& range) const noexcept;
  void add(Unit unit);
  void follow_the_first(const Unit& unit);
  void wait_for(std::uint32_t earlier, std::uint32_t later);
  void reads(std::uint32_t unit, std::uint32_t cell);
  void writes(std::uint32_t unit, std::uint32_t cell);
  std::uint32_t next_message(std::vector<std::uint32_t>& counts, std::int32_t peer);

  std::size_t group_ = 0;  // most elements of a unit over several cells
  Travel travel_;
  bool all_final_ = false;                   // whatever is sent is final
  std::vector<std::uint32_t> written_;       // by block: the last step that writes it in `out`; none: no step does
  std::vector<std::size_t> block_elements_;  // by block
  std::vector<std::uint32_t> first_;         // cells of block b in a buffer: [first_[b], first_[b + 1])
  std::vector<std::uint32_t> same_;
  std::vector<Touch> touched_;
  std::vector<Edge> readers_;
  std::vector<std::uint32_t> signals_;          // units with an empty message
  std::vector<std::uint32_t> sent_, received_;  // messages by peer
  std::vector<std::uint32_t> first_received_;   // unit of the first message from a peer
};

}  // namespace stretto::engine
