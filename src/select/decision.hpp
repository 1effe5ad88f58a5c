#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "call/agreement.hpp"
#include "call/call.hpp"
#include "model/choose.hpp"
#include "payload/payload.hpp"

namespace stretto::select {

using call::Call;
using call::Collective;

using model::Provider;

struct Support {
  bool native = false;  // the MPI, or NCCL for device memory
  bool node = false;
  bool streams = false;  // the node also serves it with streams, within a bound
  bool device = false;
  bool staged = false;         // device messages are staged through host memory
  bool nodes = false;          // the memory of several hosts serves it
  bool nodes_streams = false;  // streams may travel between these
  int reaching = 0;            // model::Question::reaching
  constexpr bool by(Provider p) const noexcept {
    return p == Provider::schedules || (p == Provider::node ? node || nodes : native);
  }
};

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

  // A short call's predictions were skipped.
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

struct Choice : model::Candidate {
  int split = 0;  // levels on the application's core
  Rationale why;
  bool in_node = false;  // a schedule in a host's memory, without messages

  bool through_nodes() const noexcept { return provider == Provider::node && piece > 0; }
};

struct Needs {
  bool counts = false;
  bool range = false;
  bool sample = false;
  bool check = false;
  bool values() const noexcept { return counts || range || sample; }
  bool any() const noexcept { return values() || check; }
};

struct Bound {
  double absolute = 0;  // in units of the data; 0: a fraction of an empty range; may be infinite
  double eps = 0;       // per contribution; 0: values travel raw, or must be exact
  double error = 0;     // of |result - exact|, but for `rounding`; infinite: no bound is kept
  double rounding = 0;  // by additions in the values' own type; infinite: unknown
};

// decide() sets `choice` and `made` unless the agreement can still change the choice; complete() does the rest.
struct Decision {
  bool known = true;  // false: out of memory
  Needs needs;
  bool made = false;
  Choice choice;
  double ratio = 1;  // by which the vector is expected to shrink
  call::Shrinks shrinks;
  bool raw_at_first = false;   // the shape's first call, raw whatever the ranks agree on
  bool samples_later = false;  // no sample gave the ratio, but a later call of the shape takes one
  bool trial = false;          // CodingTrials asks for the call's time

  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::uint64_t contributions = 1;  // K; with raw sums inside hosts, the number of hosts
  std::uint64_t inputs = 1;         // total K
  int hosts = 0;                    // with raw sums inside; 0: every sum uses `payload`
  Bound bound;
  payload::Spec spec;

  bool streams() const noexcept { return choice.payload != payload::Kind::raw; }
};

struct AgreedValues {
  codec::Ranges values;
  std::uint64_t contributions = 1;
  call::Shrinks ratios;  // of samples; 0: none were taken
};

}  // namespace stretto::select
