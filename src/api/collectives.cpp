#include "api/communicator.hpp"
#include "api/named.hpp"
#include "base/guarded.hpp"
#include "call/check.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"

using namespace stretto;
using namespace stretto::api;

namespace {

// Inlined, so that a prepared call costs one comparison.
[[gnu::always_inline]] inline stretto_status run(stretto_comm comm, const stretto_options* options,
                                                 const stretto_call& record) noexcept {
  bool compared = false;
  if (comm && is_collective(record.collective) && is_plain(record.collective)) {
    const Shape is = shape_of(record);
    const void* const send = send_of(record, comm->rank);
    void* const recv = recv_of(record, comm->rank);
    Status s = Status::ok;
    if (!comm->on_device(send, recv) && comm->prepared.again(*comm, is.collective, is.type, is.op, is.root, is.count,
                                                             send, recv, options, &s, &compared))
      return to_c(s);
  }
  return to_c(run_anew(comm, options, record, nullptr, compared));
}

}  // namespace

extern "C" {

stretto_status stretto_run(const stretto_call* call, stretto_comm comm, const stretto_options* options) {
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return run(comm, options, record);
}

stretto_status stretto_call_extent(const stretto_call* call, stretto_comm comm, size_t* send, size_t* recv) {
  if (!send || !recv) return to_c(fail(Status::invalid_argument, "{} is NULL", send ? "recv" : "send"));
  *send = *recv = 0;
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  return to_c(guarded("for the arguments", [&] {
    Call c;
    Status s = interpret(record, comm->rank, comm->size, &c);
    if (s == Status::ok) s = check_sizes(c, comm->size);
    if (s == Status::ok) find_ends(c, comm->rank, comm->size, send, recv);
    return s;
  }));
}

#define BLOCKING(name, record, ...)                                                               \
  stretto_status stretto_##name(__VA_ARGS__, stretto_comm comm, const stretto_options* options) { \
    return run(comm, options, record);                                                            \
  }
STRETTO_NAMED_COLLECTIVES(BLOCKING)

stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options) {
  return run(comm, options, barrier());
}
}
