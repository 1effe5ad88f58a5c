#include "api/operation/form.hpp"

#include "api/device/placement.hpp"
#include "call/check.hpp"
#include "select/forced.hpp"

namespace stretto::api {
namespace {

select::Providers providers_for(const Call& call, const stretto_comm_s& comm) {
  const backend::Backends& b = comm.backends;
  const bool node = b.node != nullptr || b.nodes != nullptr;
  if (call.device) return {true, node, b.no_node, {true, false, false, false}};  // api::link() decides
  return {b.mpi != nullptr, node, b.no_node, b.serve(call)};
}

}  // namespace

Status read(stretto_comm_s& comm, const stretto_options* options, const stretto_call& record, Call* call) {
  Status s = read_options(options, &call->settings);
  if (s == Status::ok) s = interpret(record, comm.rank, comm.size, call);
  if (s == Status::ok && call->stream && call->collective == Collective::barrier)
    s = fail(Status::unsupported, std::string_view("a barrier does not run in the order of a stream"));
  settle_payload(call);
  if (s == Status::ok) s = check_values(*call, comm.size);
  // Prefix sums have no streams, so ranks need not agree on values.
  if (schedule::is_prefix(call->collective)) call->settings.options.bound_kind = STRETTO_BOUND_NONE;
  const bool forces = !call->settings.schedule.empty(), asks = comm.prepared.asks_for_devices() || call->stream;
  const auto check = [&] {
    return select::check_forced(*call, providers_for(*call, comm), &comm.selector.choices().groups());
  };
  if (s == Status::ok && forces && !asks) s = check();
  if (s == Status::ok) s = check_buffers(*call, comm.rank, comm.size);
  if (s == Status::ok && asks) s = place(comm, call);
  return s == Status::ok && forces && asks ? check() : s;
}

}  // namespace stretto::api
