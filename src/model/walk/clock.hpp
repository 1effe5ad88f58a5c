// Walks the schedules of all ranks with a clock: predicts a collective's time on a machine, as a system runs it.
#pragma once

#include <cmath>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {

struct Run {
  double bytes = 0;          // of the whole vector
  double segment = 0;        // bytes; 0: blocks are not cut
  double grain = 0;          // blocks are cut at multiples of this many bytes; 0: blocks of equal length
  bool overlap = true;       // as our engine: independent steps run concurrently
  double enough = INFINITY;  // seconds: a walk with overlap may stop, with a larger time, once it exceeds this
  // A started collective on hosts with `comm_cores` communication cores each, which run the steps beside the
  // application's `work` seconds per rank (schedule::Lane). A message there keeps one core of the receiver's host busy,
  // from its start until the receiver has processed it. `joins`: a rank whose work is over runs such steps, too, as in
  // the library; else it only waits. 0 cores: no work, and a rank runs all its steps. Requires overlap.
  int comm_cores = 0;
  double work = 0;
  bool joins = true;
};

struct Prediction {
  double seconds = 0;
  double wire = 0;  // bytes sent by the busiest rank
  double work = 0;  // seconds of core work (codec, sums) on the busiest rank, without transfers
};

// Two modes of running a schedule.
//
//   overlap     dataflow: a step starts when its inputs are ready. A rank's core is one resource, as are its sending
//   and
//               its receiving side (one for both without full duplex), the network cards of its host and the uplinks of
//               the fabric. Segments flow: a step is described by the end of its first and of its last segment, so a
//               walk
//               costs the same for any number of them. Results are decoded while the core is idle.
//   otherwise   a rank exchanges or computes, never both, round by round (level of the schedule): work before sending,
//               then messages, then work on arrived data. A message takes latency + bytes; messages of a rank follow
//               each other in each direction. The literature's closed forms are of this kind.
Prediction predict(const Programs& programs, const System& system, const Machine& machine, const Run& run);

}  // namespace stretto::model
