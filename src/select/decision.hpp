// How a call runs: what follows from its arguments alone, and what the ranks' agreement adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "call/agreement.hpp"
#include "call/call.hpp"
#include "model/profile/provider.hpp"
#include "payload/payload.hpp"
#include "select/why.hpp"

namespace stretto::select {

using call::Call;
using call::Collective;

using model::Provider;

// Which providers serve a call, beside schedules, which serve all.
struct Served {
  bool mpi = false, node = false;
  bool streams = false;  // by the node's, within a bound
  bool device = false;   // a rank's buffers are in the memory of a device
  bool staged = false;   // and messages pass the host's
  int reaching = 0;      // or ranks of one device, at most, where devices reach each other's memory
  constexpr bool by(Provider p) const noexcept {
    return p == Provider::schedules || (p == Provider::node ? node : mpi);
  }
};

// One way to run a collective. With the providers mpi and node only `payload` and `why` have a meaning.
struct Choice {
  Provider provider = Provider::schedules;
  payload::Kind payload = payload::Kind::raw;
  std::string schedule;
  bool raw_inside = false;    // raw inside a host, `payload` between hosts
  std::size_t raw_below = 0;  // bytes: messages of fewer travel raw, whatever `payload`
  std::size_t segment = 0;    // bytes; 0: uncut
  int blocks = 0;             // pieces of a pipelined schedule; 0: what it needs
  int radix = 2;
  int split = 0;  // levels of a tree that the application's core does (schedule::Lane)
  int lanes = 0;  // streams of a device that segments are on; 0: as usual
  Why why;
};

// What a call needs from the agreement before its data may move.
struct Needs {
  bool counts = false;  // of other ranks
  bool range = false;   // of the values, for a bound
  bool sample = false;  // how well the values compress
  bool check = false;   // whether all ranks call alike
  bool values() const noexcept { return counts || range || sample; }
  bool any() const noexcept { return values() || check; }
};

// decide() sets `choice` and `made` unless the agreement can still change the choice. complete() then makes the choice,
// and fills in the rest.
struct Decision {
  bool known = true;  // false: there was no memory to find out
  Needs needs;
  bool made = false;
  Choice choice;
  double ratio = 1;  // by which the vector is expected to shrink

  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::uint64_t contributions = 1;  // K; with raw sums inside hosts, the hosts
  std::uint64_t inputs = 1;         // K in all
  int hosts = 0;                    // with raw sums inside each of so many; 0: all is added as `payload` says
  double eps = 0;                   // of each contribution
  double error = 0;                 // |result - exact| <= this, and
  double rounding = 0;              // this more, by additions in the values' own type; infinite: not known
  payload::Spec spec;

  bool streams() const noexcept { return choice.payload != payload::Kind::raw; }
};

// What the agreement brought, the same on every rank.
struct Agreed {
  codec::Ranges values;  // of the finite values; empty: there are none, or it was not asked for
  std::uint64_t contributions = 1;
  double ratio = 0;  // of samples; 0: none were taken
};

}  // namespace stretto::select
