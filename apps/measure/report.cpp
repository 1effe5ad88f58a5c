#include "report.hpp"

#include <cstdio>

namespace stretto::measure {

const char* name(Part part) noexcept {
  switch (part) {
    case Part::pingpong: return "pingpong";
    case Part::links: return "links";
    case Part::codec: return "codec";
    case Part::local: return "local";
    case Part::engine: return "engine";
    case Part::native: return "native";
    case Part::node: return "node";
    case Part::switches: return "switches";
    case Part::device: return "device";
  }
  return "?";
}

void Report::event(const Json& event) const {
  if (!speaks_) return;
  const std::string line = event.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);  // a reader shows progress
}

void Report::begin(Part part, int steps) {
  part_ = part;
  done_ = 0;
  total_ = steps;
  progress();
}

void Report::step() {
  ++done_;
  progress();
}

void Report::row(const Json& fields) const {
  Json row{{"event", "row"}, {"part", name(part_)}};
  row.update(fields);
  event(row);
}

void Report::progress() const {
  event({{"event", "progress"}, {"part", name(part_)}, {"done", done_}, {"total", total_}});
}

}  // namespace stretto::measure
