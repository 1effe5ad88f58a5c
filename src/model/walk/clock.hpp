#pragma once

#include <cmath>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {

struct Run {
  double bytes = 0;
  double segment = 0;  // bytes; 0: uncut
  double grain = 0;    // bytes between cuts; 0: equal blocks
  bool overlap = true;
  double enough = INFINITY;  // seconds; overlapped walks may stop beyond
  // Communication cores per host, which run steps beside the application's `work` seconds per rank (schedule::Lane). A
  // message keeps one of the receiver's cores busy until processed. `joins`: a rank runs such steps, too, after its
  // work. 0: no work, and ranks run all steps. Requires overlap.
  int comm_cores = 0;
  double work = 0;
  bool joins = true;
};

struct Prediction {
  double seconds = 0;
  double wire = 0;
  double work = 0;
};

// Modes:
//   overlap     a step starts when its inputs are ready. Resources are a rank's core, its sending and its receiving
//               side (one for both without full duplex), its host's cards and the fabric's uplinks. Results are
//               decoded in idle time.
//   otherwise   ranks exchange or compute, round by round: work before sending, messages, work on arrived data. A
//               message takes latency + bytes; a rank's messages follow each other in each direction. The
//               literature's closed forms do so.
Prediction predict(const Programs& programs, const System& system, const Machine& machine, const Run& run);

}  // namespace stretto::model
