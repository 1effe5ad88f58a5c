#include "mpi/calls/perform.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/profiling.hpp"
#include "call/enums.hpp"
#include "mpi/calls/decide.hpp"
#include "mpi/calls/prepared.hpp"
#include "mpi/calls/recursion_guard.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failures.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/requests/started.hpp"

namespace stretto::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// 1 for a short call; three long calls reach kUseBeforeMaking.
int use_of(std::int64_t bytes) noexcept { return static_cast<int>(std::min<std::int64_t>(1 + bytes / 1024, 22)); }

int run(const WrappedCall& call, Communicator* c, const Settings& settings, Native native) {
  const RecursionGuard guard;
  const carrier::Limited limited(c && call.form == Form::blocking ? &c->watchdog : nullptr,
                                 operation_names[static_cast<std::size_t>(call.operation)], settings.timeout);
  return native();
}

// The MPI can serve the call: all ranks got this status, and no data moved. Buffer errors may be local unless the ranks
// `agreed`; allgatherv's arrays are equal on all ranks.
bool falls_through(const WrappedCall& call, stretto_status s, bool agreed) noexcept {
  return s == STRETTO_INVALID_BOUND || s == STRETTO_UNSUPPORTED || (s == STRETTO_INCOMPATIBLE && agreed) ||
         (s == STRETTO_INVALID_ARGUMENT && (agreed || call.operation == Function::allgatherv));
}

std::string why_served(const Decision& d, const stretto_report& r) {
  const std::string asked = asked_by(d), found = r.reason;
  if (found.empty() || (d.line > 0 && found == "forced")) return asked;
  return asked.empty() ? found : asked + "; " + found;
}

class Account {
 public:
  Account(Runtime& r, const WrappedCall& call) : statistics_(r.settings.report ? &r.statistics : nullptr), call_(call) {
    if (statistics_) begun_ = Clock::now();
  }
  bool wanted() const noexcept { return statistics_ != nullptr; }
  void passed_on(const Decision& d, std::string_view why) {
    if (statistics_) note({name_of(call_), "MPI", d.by_rule ? rule_of(d) : std::string(why)}, d, {}, Server::mpi);
  }
  void served(const Decision& d, const stretto_report& r) {
    if (!statistics_) return;
    const Server server = std::string_view(r.algorithm) == "native" ? Server::mpi : Server::stretto;
    note({name_of(call_), path_of(r), why_served(d, r)}, d, tally_of(d, r), server);
  }

 private:
  void note(const RowKey& key, const Decision& d, Tally t, Server server) {
    t.calls = 1;
    t.bytes = call_.form == Form::persistent ? 0 : static_cast<double>(d.shape.bytes);
    t.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    statistics_->add(key, t, server);
  }

  Statistics* statistics_;
  const WrappedCall& call_;
  Clock::time_point begun_;
};

// Replaces numbers by N: calls with different counts share a row.
std::string kind_of(std::string_view reason) {
  std::string kind;
  for (std::size_t i = 0; i < reason.size();) {
    const bool digit = reason[i] >= '0' && reason[i] <= '9';
    const bool alone = i == 0 || reason[i - 1] == ' ' || reason[i - 1] == '(';
    if (!digit || !alone) {
      kind += reason[i++];
      continue;
    }
    kind += 'N';
    while (i < reason.size() && reason[i] >= '0' && reason[i] <= '9') ++i;
  }
  return kind;
}

// Equal arguments are decided alike, for any data, site, and names.
bool decided(const Decision& d, const Settings& settings) noexcept {
  return (d.kind != Action::Kind::bounded || d.by_lines) && !d.compares && d.communicator->memory == Memory::host &&
         !settings.rules.looks_at_names();
}

// Grids with one rank in a row or column make tens of thousands of such calls.
bool alone(const Communicator* c) noexcept { return c && c->size == 1 && !c->inter; }

int dispatch(Runtime& r, const WrappedCall& call, Communicator* communicator, Native native) {
  Account account(r, call);
  // The call that makes stretto's communicator is decided without it, and an equal one later may go otherwise.
  const bool was_made = communicator != nullptr && communicator->comm != nullptr;
  Decision d = decide(call, communicator, r);
  if (!d.why && call.form == Form::nonblocking) return start_driven(call, d, r.settings, call.request);
  if (!d.why && call.form == Form::persistent) d.why = "made; its starts are rows of their own";
  if (d.why) {
    const std::int64_t bytes =
        call.operation == Function::alltoall && d.early ? d.shape.bytes * d.communicator->size : d.shape.bytes;
    const bool timed = d.early && d.communicator->early.samples(bytes);
    const Clock::time_point begun = timed ? Clock::now() : Clock::time_point();
    const int code = run(call, d.communicator, r.settings, native);
    if (d.early && took_part(code)) {
      d.communicator->use += use_of(d.shape.bytes);
      if (timed) d.communicator->early.add(bytes, Clock::now() - begun, d.may_shrink);
    }
    account.passed_on(d, d.why);
    return code;
  }
  // The MPI must not get the call: a forked child would send as its parent.
  if (const Status s = api::usable(d.communicator->comm); s != Status::ok) return raise(call, call::to_c(s));
  std::optional<stretto_report> report;
  if (account.wanted() || (d.shape.moved && call.operation == Function::bcast))
    report = stretto_report STRETTO_REPORT_INIT;
  const stretto_options options = options_of(d, r.settings, report ? &*report : nullptr);
  const bool keeps = was_made && !report && !options.check && decided(d, r.settings);
  const stretto_status s = serve(call, *d.communicator, d.shape, options, keeps);
  if (s == STRETTO_OK) {
    if (report) account.served(d, *report);
    return MPI_SUCCESS;
  }
  const bool agreed = options.check || (options.bound_kind == STRETTO_BOUND_RELATIVE && !d.by_lines);
  if (!falls_through(call, s, agreed)) return raise(call, s);
  const std::string why = account.wanted() ? kind_of(stretto_message()) : "";
  const int code = run(call, d.communicator, r.settings, native);
  account.passed_on(d, why);
  return code;
}

bool repeat(const Settings& settings, const WrappedCall& call, Communicator* c, Native native, int* code) {
  stretto_status s = STRETTO_OK;
  if (!c || !again(call, *c, settings.timeout, &s)) return false;
  if (s == STRETTO_OK) [[likely]]
    *code = MPI_SUCCESS;
  else
    *code = falls_through(call, s, false) ? run(call, c, settings, native) : raise(call, s);
  return true;
}

}  // namespace

int perform(const WrappedCall& call, Native native) noexcept {
  if (inside || call.comm == MPI_COMM_NULL) return native();
  Runtime* r = runtime();
  if (!r) return native();
  Communicator* const c = find_communicator(call.comm);
  if (!r->settings.report) {
    if (alone(c)) return native();
    if (never_served(call)) return run(call, c, r->settings, native);
  }
  try {
    if (int code = MPI_SUCCESS; repeat(r->settings, call, c, native, &code)) return code;
    return dispatch(*r, call, c, native);
  } catch (...) {
    const Status s = fail(Status::out_of_memory, std::string_view("no memory for a call of the MPI"));
    if (c) give_up(*c, s);  // other ranks may be in the call
    return raise(call, STRETTO_OUT_OF_MEMORY);
  }
}

}  // namespace stretto::mpi
