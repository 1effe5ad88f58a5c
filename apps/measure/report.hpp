// The program's output: events, one JSON object per line on standard output, written by rank 0 alone.
//
//   {"event": "machine", ...}   first: the machine and its software
//   {"event": "regime", "when": "before" | "after", ...}   the round trip of a shared flag (regime.hpp)
//   {"event": "share", "after": "links", "share": 0.98}   of its core that each rank had then; first after ""
//   {"event": "progress", "part": "links", "done": 3, "total": 24}
//   {"event": "row", "part": "links", ...}   a figure
//   {"event": "end", "seconds": 41.2}   last; without it the run was cut off
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace stretto::measure {

using Json = nlohmann::ordered_json;

// The parts of a measurement, in order.
enum class Part : std::uint8_t { pingpong, links, codec, local, engine, native, node, switches, device };
inline constexpr Part kParts[] = {Part::pingpong, Part::links, Part::codec,    Part::local, Part::engine,
                                  Part::native,   Part::node,  Part::switches, Part::device};
const char* name(Part part) noexcept;

class Report {
 public:
  explicit Report(bool speaks) : speaks_(speaks) {}

  void event(const Json& event) const;

  // Begins a part of `steps` steps; each ends with step().
  void begin(Part part, int steps);
  void step();

  // Adds a figure of the current part.
  void row(const Json& fields) const;

 private:
  void progress() const;

  bool speaks_;
  Part part_{};
  int done_ = 0, total_ = 0;
};

}  // namespace stretto::measure
