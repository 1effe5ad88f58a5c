// Turns the arguments of a C function into a call, checked and decided.
#pragma once

#include <string>

#include "api/communicator.hpp"
#include "api/device/placement.hpp"
#include "base/status.hpp"
#include "call/builders.hpp"
#include "call/check.hpp"
#include "select/forced.hpp"

namespace stretto::api {

// As stretto_comm_rank(), without a call.
inline int rank_of(stretto_comm comm) noexcept { return comm ? comm->rank : -1; }

inline select::Providers providers_for(const Call& call, const stretto_comm_s& comm) {
  const backend::Backends& b = comm.backends;
  if (call.device) return {true, b.node != nullptr, b.no_node, {true, false, false, false}};  // Operation::link() knows
  return {b.mpi != nullptr, b.node != nullptr || b.nodes != nullptr, b.no_node, b.serve(call)};
}

// Reads and checks options and arguments into `call`. Throws std::bad_alloc.
template <class Build>
Status read(stretto_comm_s& comm, const stretto_options* options, const Build& build, Call* call) {
  Status s = read_options(options, &call->settings);
  if (s == Status::ok) s = build(*call, comm.rank, comm.size);
  settle_payload(call);
  if (s == Status::ok) s = check_values(*call, comm.size);
  const bool forces = !call->settings.schedule.empty(), asks = comm.prepared.asks_for_devices() || call->stream;
  const auto check = [&] {
    return select::check_forced(*call, providers_for(*call, comm), &comm.selector.choices().groups());
  };
  if (s == Status::ok && forces && !asks) s = check();
  if (s == Status::ok) s = check_buffers(*call, comm.rank, comm.size);
  if (s == Status::ok && asks) s = place(comm, call);
  return s == Status::ok && forces && asks ? check() : s;
}

// Like check(), and decides. A failure is this rank's contribution to the agreement.
template <class Build>
Status form(stretto_comm_s& comm, const stretto_options* options, const Build& build, Call* call,
            select::Decision* decision) noexcept {
  try {
    const Status s = read(comm, options, build, call);
    const std::string why = s == Status::ok ? "" : message();
    // Also after a failure: this rank must take part in whatever the others exchange.
    *decision = comm.selector.decide(*call, comm.backends.serve(*call));
    return s == Status::ok ? s : fail(s, "{}", why);
  } catch (...) {
    decision->known = false;
    return fail(Status::out_of_memory, std::string_view("no memory for the arguments"));
  }
}

}  // namespace stretto::api
