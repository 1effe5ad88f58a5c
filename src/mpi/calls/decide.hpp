// How the settings and the communicator run a call: left to the MPI, or served by stretto with these options.
#pragma once

#include <string>

#include "mpi/calls/shape.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/process/statistics.hpp"
#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

struct Decision {
  const char* why = nullptr;  // reason why the MPI gets the call; null: stretto serves it
  bool by_rule = false;       // `why` comes from a rule
  bool early = false;         // a call before stretto's communicator is made
  int line = 0;               // line of the deciding rule; 0: none
  bool fixed = false;         // a sum to which STRETTO_REPRODUCIBLE applies
  bool device = false;        // some rank's buffers are in device memory; for a started call, may be
  Shape shape;
  Communicator* communicator = nullptr;
  Action::Kind kind = Action::Kind::usual;
  Bound bound;
  const char* schedule = nullptr;  // null: automatic
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;
  std::uint64_t raw_below = 0;
};

// Decides for calls of every form. Collective if it makes a communicator, or if a GPU may be in use.
Decision decide(const WrappedCall& call, Communicator* communicator, const Runtime& runtime);

stretto_options options_of(const Decision& d, const Settings& settings, stretto_report* report);

std::string rule_of(const Decision& d);

// The rule or setting that decided; empty: none.
std::string asked_by(const Decision& d);

// The path in a report's row.
std::string path_of(const stretto_report& r);

// The C interface's report of a call, for the statistics.
Tally tally_of(const Decision& d, const stretto_report& r);

}  // namespace stretto::mpi
