#include "api/straight.hpp"

#include <chrono>

#include "api/plan.hpp"
#include "api/report.hpp"

namespace stretto::api {
namespace {

using Clock = std::chrono::steady_clock;

Status run_and_tell(Native& native, const Call& call, int ranks) noexcept {
  stretto_report* out = call.settings.options.report;
  if (!out) return native.run(call);
  const Clock::time_point begun = Clock::now();
  const Status s = native.run(call);
  if (s != Status::ok) return s;
  stretto_report r = STRETTO_REPORT_INIT;
  set_name(r.algorithm, native_name);
  set_name(r.payload, "raw");
  r.contributions = reduces(call.collective) ? static_cast<std::uint64_t>(ranks) : 1;
  r.ratio = r.expected_ratio = 1;
  r.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  deliver(r, out);
  return s;
}

}  // namespace

bool go_straight(stretto_comm_s& comm, const Call& call, Status* ended) noexcept {
  Native* native = comm.carriers.native.get();
  if (!call.prospect.native || call.nonblocking || comm.broken || !comm.live.empty()) return false;
  *ended = run_and_tell(*native, call, comm.size);
  if (*ended != Status::ok) comm.give_up(message());  // what the others have done is uncertain
  return true;
}

}  // namespace stretto::api
