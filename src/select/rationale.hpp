#pragma once

#include <cstdint>

namespace stretto::select {

enum class Reason : std::uint8_t {
  predicted,
  measured,  // trials of codings decided between streams
  assumed,
  unpredicted,
  alone,
  rounding,
  forced,
  counts,
  agreement,
  refused  // a bound, schedule or payload was refused: the call runs without it
};

struct Rationale {
  Reason reason = Reason::predicted;
  float seconds = 0, mpi = 0;  // predicted, of this choice, and of the MPI's own collective; 0: none

  // The predictions of a short call without a report were skipped.
  bool lacks_prediction() const noexcept {
    return seconds == 0 && (reason == Reason::predicted || reason == Reason::assumed);
  }
};

constexpr const char* name(Reason r) noexcept {
  switch (r) {
    case Reason::predicted: return "predicted";
    case Reason::measured: return "measured";
    case Reason::assumed: return "assumed";
    case Reason::unpredicted: return "unpredicted";
    case Reason::alone: return "no native collective";
    case Reason::rounding: return "raw sums would round too much";
    case Reason::forced: return "forced";
    case Reason::counts: return "unequal counts";
    case Reason::agreement: return "agreement";
    case Reason::refused: return "refused";
  }
  return "";
}

}  // namespace stretto::select
