// How a call runs, as far as the program's settings and its communicator say: left to the MPI, or stretto's, with what options.
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
  const char* why = nullptr;  // it is left to the MPI; null: it is served
  bool by_rule = false;       // for a rule says so
  bool early = false;         // one of the calls before stretto's communicator is made
  int line = 0;               // of the rules, which decided; 0: none
  bool fixed = false;         // a sum that STRETTO_REPRODUCIBLE concerns
  bool device = false;        // a rank's buffers are in the memory of a device, or, of a call that is started, may be
  Shape shape;
  Communicator* communicator = nullptr;
  Action::Kind kind = Action::Kind::usual;
  Bound bound;
  const char* schedule = nullptr;  // null: chosen
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;
  std::uint64_t raw_below = 0;
};

// Of every form. Collective where a communicator of stretto's is made for the call, or a GPU may be in use.
Decision decide(const WrappedCall& call, Communicator* communicator, const Runtime& runtime);

stretto_options options_of(const Decision& d, const Settings& settings, stretto_report* report);

std::string rule_of(const Decision& d);

// What decided: the rule or setting, or nothing.
std::string asked_by(const Decision& d);

// The path of a report's row.
std::string path_of(const stretto_report& r);

// What the C interface reports of a call, for the statistics.
Tally tally_of(const Decision& d, const stretto_report& r);

}  // namespace stretto::mpi
