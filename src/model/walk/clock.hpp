// Walks the schedules of all ranks with a clock: what a collective takes on a machine, as a system runs it.
#pragma once

#include <cmath>

#include "model/profile/machine.hpp"
#include "model/walk/programs.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {

struct Run {
  double bytes = 0;          // of the whole vector
  double segment = 0;        // bytes; 0: blocks are not cut
  double grain = 0;          // bytes that cuts between blocks fall on; 0: blocks of equal length, whatever it is
  bool overlap = true;       // as our engine: all that does not wait for another goes on at the same time
  double enough = INFINITY;  // seconds: a walk with overlap may end, with a time above, once it is seen to take longer
  // A started collective, of which so many communication cores of each host do what is beside the application's work of
  // so many seconds on each rank (schedule::Lane). A message there keeps one core busy, on the receiver's host, from its
  // start to the end of what is done with it. `joins`: a rank whose work is over does such steps, too, as the library has
  // it; else it only waits. 0 cores: there is no work, and a rank does all of its steps. With overlap alone.
  int comm_cores = 0;
  double work = 0;
  bool joins = true;
};

struct Prediction {
  double seconds = 0;
  double wire = 0;  // bytes sent by the busiest rank
  double work = 0;  // seconds of a core's work (codec, sums) on the busiest rank, without what transfers keep it busy
};

// Two modes of running a schedule.
//   overlap     dataflow: a step starts when what it reads is there. A rank's core is one resource, as are its sending and its
//               receiving (one for both without full duplex), the network cards of its host and the uplinks of the fabric.
//               Segments flow: a step is known by when its first and its last segment are done, so that a walk costs the
//               same for any number of them. Results are decoded while there is nothing else to do.
//   otherwise   a rank exchanges or computes, never both, round by round (level of the schedule). First comes the work
//               before sending, then the messages, then the work on what arrived. A message takes latency + bytes;
//               messages of a rank follow each other in each direction. The literature's closed forms are of this kind.
Prediction predict(const Programs& programs, const System& system, const Machine& machine, const Run& run);

}  // namespace stretto::model
