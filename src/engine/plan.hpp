// A schedule over blocks of known extents, cut into units.
//
// A cell is a segment of a block in a buffer. A unit is a message, a local step, or the delivery of a result, over
// consecutive cells: large blocks have many units, and small blocks share one. Extents are equal on all ranks, so
// sender and receiver cut alike. Units depend on each other by schedule.hpp's rule for their cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "engine/engine.hpp"

namespace stretto::engine {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

enum class Task : std::uint8_t { send, receive_replace, receive_combine, copy, combine, deliver };

constexpr bool receives(Task task) noexcept { return task == Task::receive_replace || task == Task::receive_combine; }

struct Unit {
  Task task{};
  bool incoming_first = false;
  bool raw = true;  // false: streams
  schedule::Lane lane = schedule::Lane::beside;
  std::uint16_t level = 0;
  std::int32_t peer = -1;
  std::uint32_t step = 0;     // deliver: none
  std::uint32_t message = 0;  // index among messages to, or from, this peer
  std::uint32_t cells = 0;    // 0: an empty message
  std::uint32_t dst = 0;      // first cell written or delivered
  std::uint32_t src = 0;      // first cell read
  std::uint32_t waits_for = 0;
  std::uint32_t followers = kNone;

  std::uint32_t first_cell() const noexcept { return task == Task::send ? src : dst; }
};

struct Edge {
  std::uint32_t unit;
  std::uint32_t next;
};

struct Travel {
  bool streams = false;
  bool raw_inside = false;
  std::size_t raw_below = 0;  // raw messages of fewer elements
};

struct Place {
  schedule::Buffer buffer{};
  std::int32_t block = 0;
  std::size_t first = 0;  // elements before it in the block
  std::size_t count = 0;
  std::size_t before = 0;  // elements before it in the vector
  std::uint32_t part = 0;
};

class Plan {
 public:
  // `merged[b]`: in and out of block b share memory and cells. Segments are multiples of `grain` elements, or end with
  // one of the `parts`. `travel` is equal on all ranks.
  Status make(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
              std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged, const Travel& travel,
              std::span<const Part> parts = {});

  bool is_final(const Unit& unit, std::uint32_t cell) const noexcept;

  // The pair and direction with most messages.
  struct Pair {
    std::int32_t peer = 0;
    bool sends = false;
    std::size_t elements = 0;
  };
  Pair busiest() const noexcept;

  std::uint32_t segment(std::uint32_t cell) const noexcept {
    return cell % static_cast<std::uint32_t>(segments) - first_[static_cast<std::size_t>(places[cell].block)];
  }

  // Cell i, or the cell of `out` that it is merged with.
  std::uint32_t cell(std::uint32_t i) const noexcept { return same_[i]; }

  std::vector<Unit> units;
  std::vector<Edge> edges;
  std::vector<Place> places;
  std::size_t segments = 0;
  std::uint32_t most_messages = 0;

 private:
  struct Touch {
    std::uint32_t writer = kNone;
    std::uint32_t readers = kNone;
  };
  struct Cells {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void lay_out(const schedule::Schedule& schedule, std::span<const Block> blocks, std::size_t element_bytes,
               std::size_t segment_bytes, std::size_t grain, std::span<const std::uint8_t> merged,
               std::span<const Part> parts);
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

  std::size_t group_ = 0;  // limit of elements of a unit over several cells
  Travel travel_;
  bool all_final_ = false;
  std::vector<std::uint32_t> written_;  // by block: last step that writes it in `out`
  std::vector<std::size_t> block_elements_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> same_;
  std::vector<Touch> touched_;
  std::vector<Edge> readers_;
  std::vector<std::uint32_t> signals_;
  std::vector<std::uint32_t> sent_, received_;
  std::vector<std::uint32_t> first_received_;
};

}  // namespace stretto::engine
