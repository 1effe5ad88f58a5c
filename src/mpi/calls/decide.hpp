#pragma once

#include <string>

#include "mpi/calls/shape.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/report/statistics.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

struct Decision {
  const char* why = nullptr;  // the MPI gets the call; null: stretto does
  bool by_rule = false;       // a rule leaves it to the MPI
  bool early = false;         // before stretto's communicator is made
  bool ruled = false;         // a rule says how to serve the call
  int line = 0;
  bool fixed = false;  // STRETTO_REPRODUCIBLE applies
  bool brief = false;  // exact in spite of a bound, since it is short
  bool compares = false;
  bool by_lines = false;    // moved within a bound, whatever the ranks name the data
  bool may_shrink = false;  // it might go by lines with a communicator of stretto's
  bool device = false;      // some rank's buffers are, or may be, in device memory
  Shape shape;
  Communicator* communicator = nullptr;
  Action::Kind kind = Action::Kind::usual;
  Bound bound;
  const char* schedule = nullptr;
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;
  stretto_coding coding = STRETTO_CODING_AUTO;
  std::uint64_t raw_below = 0;
};

// Collective if it makes a communicator, or if a GPU may be in use.
Decision decide(const WrappedCall& call, Communicator* communicator, const Runtime& runtime);

stretto_options options_of(const Decision& d, const Settings& settings, stretto_report* report);

std::string rule_of(const Decision& d);

std::string asked_by(const Decision& d);

std::string path_of(const stretto_report& r);

Tally tally_of(const Decision& d, const stretto_report& r);

}  // namespace stretto::mpi
