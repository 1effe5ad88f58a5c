#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "call/agreement.hpp"
#include "call/call.hpp"
#include "model/profile/provider.hpp"
#include "payload/payload.hpp"
#include "select/rationale.hpp"

namespace stretto::select {

using call::Call;
using call::Collective;

using model::Provider;

struct Support {
  bool mpi = false, node = false;
  bool streams = false;  // the node also serves it with streams, within a bound
  bool device = false;
  bool staged = false;         // device messages are staged through host memory
  bool nodes = false;          // the memory of several hosts serves it (Backends::nodes)
  bool nodes_streams = false;  // and lets streams travel between the hosts
  int reaching = 0;            // most ranks of one device, where devices reach each other's memory; else 0
  constexpr bool by(Provider p) const noexcept {
    return p == Provider::schedules || (p == Provider::node ? node || nodes : mpi);
  }
};

// For mpi, and for node on one host, only `payload` and `why` are used. On several hosts node runs `schedule` between
// them.
struct Choice {
  Provider provider = Provider::schedules;
  payload::Kind payload = payload::Kind::raw;
  std::string schedule;
  codec::Coding coding = codec::Coding::fixed;
  bool raw_inside = false;    // raw inside a host, `payload` between hosts
  std::size_t raw_below = 0;  // bytes: shorter messages travel raw with any `payload`
  std::size_t segment = 0;    // bytes; 0: uncut
  int blocks = 0;             // pieces of a pipelined schedule; 0: its default
  int radix = 2;
  int split = 0;          // levels of a tree run by the application's core (schedule::Lane)
  std::size_t piece = 0;  // bytes that a host of several sums in its memory at a time; 0: none does
  int lanes = 0;          // device streams for the segments; 0: the default
  Rationale why;

  bool through_nodes() const noexcept { return provider == Provider::node && piece > 0; }
};

struct Needs {
  bool counts = false;
  bool range = false;
  bool sample = false;
  bool check = false;  // comparison of all ranks' calls
  bool values() const noexcept { return counts || range || sample; }
  bool any() const noexcept { return values() || check; }
};

// decide() sets `choice` and `made` unless the agreement can still change the choice. complete() makes it then, and
// fills in the rest.
struct Decision {
  bool known = true;  // false: out of memory
  Needs needs;
  bool made = false;
  Choice choice;
  double ratio = 1;  // by which the vector is expected to shrink
  call::Shrinks shrinks;
  bool trial = false;  // CodingTrials asks for the call's time

  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::uint64_t contributions = 1;  // K; with raw sums inside hosts, the number of hosts
  std::uint64_t inputs = 1;         // total K
  int hosts = 0;                    // with raw sums inside; 0: every sum uses `payload`
  double eps = 0;                   // per contribution
  double error = 0;                 // bound of |result - exact|, except for
  double rounding = 0;              // the error by additions in the values' own type; infinite: unknown
  payload::Spec spec;

  bool streams() const noexcept { return choice.payload != payload::Kind::raw; }
};

struct Agreement {
  codec::Ranges values;
  std::uint64_t contributions = 1;
  call::Shrinks ratios;  // of samples; 0: none were taken
};

}  // namespace stretto::select
