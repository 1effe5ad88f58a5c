#include "mpi/calls/perform.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/communicator.hpp"
#include "call/enums.hpp"
#include "mpi/calls/device.hpp"
#include "mpi/calls/prepared.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/calls/shape.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failures.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/requests/started.hpp"
#include "mpi/settings/call_site.hpp"

namespace stretto::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// 1 for a short call, for a long one at most so much that 3 make a communicator of stretto's.
int use_of(std::int64_t bytes) noexcept { return static_cast<int>(std::min<std::int64_t>(1 + bytes / 1024, 22)); }

// An MPI's own function may call others of its functions by their public names, as its Fortran layer does: they are the same call.
thread_local bool inside = false;

class Inside {
 public:
  Inside() noexcept { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// `c`: null where nothing is known of the call's communicator.
int run(const WrappedCall& call, Communicator* c, const Settings& settings, Native native) {
  const Inside guard;
  const carrier::Limited limited(c && call.form == Form::blocking ? &c->watchdog : nullptr,
                                 operation_names[static_cast<std::size_t>(call.operation)], settings.timeout);
  return native();
}

// The program's own functions that are called on the way (of attributes) may call collectives: those are the MPI's.
bool made(MPI_Comm comm, Communicator* c, const Settings& settings) {
  const Inside guard;
  return make(comm, c, settings.timeout);
}

bool used_enough(MPI_Comm comm, Communicator* c, const Settings& settings) noexcept {
  if (c->use < use_before_making) return false;
  const Inside guard;
  return c->use >= use_wanted(comm, c, settings.timeout);
}

struct Decision {
  const char* why = nullptr;  // it is left to the MPI; null: it is served
  bool early = false;         // one of the calls before stretto's communicator is made
  int line = 0;               // of the rules, which decided; 0: none
  bool fixed = false;         // a sum that STRETTO_REPRODUCIBLE concerns
  Shape shape;
  Communicator* communicator = nullptr;
  Action::Kind kind = Action::Kind::usual;
  Bound bound;
  const char* schedule = nullptr;  // null: chosen
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;
};

// Bytes of a vector that no stream makes faster: the program gets the MPI's sum, and none of what a promise about its rounding would cost (the
// magnitude of all values, found and agreed on).
constexpr std::int64_t longest_brief = 1024;

// A rule goes before the communicator's own bound, and that before the one for all.
void ask_rules(const WrappedCall& call, const Settings& settings, Decision* d) {
  const auto site = [&] { return name_of_site(call.site); };
  const auto comm = [&] { return name_of(call.comm); };
  const std::optional<Bound>& own = d->communicator->bound;
  const Action* rule =
      settings.rules.empty() ? nullptr : settings.rules.find(call.operation, d->shape.bytes, site, comm);
  if (rule) {
    d->kind = rule->kind;
    d->line = rule->line;
    d->bound = rule->bound;
    d->payload = rule->payload;
    if (!rule->schedule.empty()) d->schedule = rule->schedule.c_str();
  }
  if (d->kind == Action::Kind::usual && (own || settings.bound)) {
    d->kind = Action::Kind::bounded;
    d->bound = own ? *own : *settings.bound;
  }
  if (d->kind != Action::Kind::bounded) return;
  const bool brief = d->shape.bytes <= longest_brief && d->payload == STRETTO_PAYLOAD_AUTO;
  if (!d->shape.floating_sum || brief) d->kind = Action::Kind::exact;
}

// Memory of a GPU on some ranks only is legal, so they agree.
const char* unless_in_host_memory(const WrappedCall& call, const Shape& shape, Communicator& c,
                                  const Settings& settings) noexcept {
  if (call.operation == Function::barrier) return nullptr;
  if (shape.bytes < least_asked) return "a short call where GPUs are in use";
  const carrier::Limited limited(&c.watchdog, "allreduce", settings.timeout);
  return on_any_rank(in_device_memory(call), call.comm) ? "device memory" : nullptr;
}

bool rounds(stretto_type type) noexcept { return type == STRETTO_F32 || type == STRETTO_F64; }

// A sum that must have the same bits at every call is never the MPI's.
bool is_fixed(const Shape& shape, const Settings& settings) noexcept {
  return settings.reproducible && shape.element && rounds(shape.element->type);
}

// What is started is exact, whatever bound it might have.
const char* unless_it_may_start(const WrappedCall& call, const Decision& d, const Runtime& runtime) {
  const Settings& settings = runtime.settings;
  if (d.kind == Action::Kind::native || d.schedule) return "nonblocking, and a rule for it";
  if (settings.rules.looks_at_names()) return "nonblocking, where rules ask for names";
  if (is_fixed(d.shape, settings)) return "nonblocking, where sums are to be reproducible";
  return unless_driven(call, *d.communicator, d.shape, runtime.any_thread);
}

Decision decide(const WrappedCall& call, Communicator* communicator, const Runtime& runtime) {
  const Settings& settings = runtime.settings;
  Decision d;
  d.communicator = communicator;
  if (!d.communicator) {
    d.why = "a communicator that the MPI does not know";
    return d;
  }
  Communicator& c = *d.communicator;
  d.why = shape_of(call, c, &d.shape);
  const bool blocks = call.form == Form::blocking;
  if (!blocks && !runtime.cores) d.why = call.form == Form::nonblocking ? "nonblocking" : "persistent";
  if (runtime.apart) d.why = apart_reason;
  if (d.why) return d;
  ask_rules(call, settings, &d);
  if (d.kind == Action::Kind::off) {
    d.why = "a rule";
    return d;
  }
  if (!blocks) {
    d.why = unless_it_may_start(call, d, runtime);
    return d;
  }
  d.fixed = is_fixed(d.shape, settings);
  // Where rules ask for names, ranks may get different ones: all make theirs at the first call, to find out.
  const bool at_once = d.kind == Action::Kind::bounded || d.schedule || d.fixed || settings.rules.looks_at_names();
  d.early = !c.comm && c.refused.empty() && !at_once && !used_enough(call.comm, &c, settings);
  if (d.early) {
    d.why = "the first calls of a communicator";
  } else if (!made(call.comm, &c, settings)) {
    d.why = c.refused.c_str();
  } else if (c.devices) {
    d.why = unless_in_host_memory(call, d.shape, c, settings);
  }
  return d;
}

stretto_options options_of(const Decision& d, const Settings& settings, stretto_report* report) {
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.check = settings.rules.looks_at_names();  // then ranks may differ, and find out before anything moves
  o.timeout = settings.timeout;
  o.reproducible = settings.reproducible;
  o.report = report;
  o.schedule = d.kind == Action::Kind::native ? "native" : d.schedule;
  if (d.kind == Action::Kind::bounded) {
    o.bound_kind = d.bound.kind;
    o.bound = d.bound.value;
    o.scope = d.bound.scope;
    o.payload = d.payload;
    o.ignore_above = settings.ignore_above;
  }
  return o;
}

// All ranks got this status, and nothing has moved. Buffers are each rank's own, so what is wrong with them need not be so on others
// unless the ranks `agreed`; the arrays of allgatherv are alike.
bool falls_through(const WrappedCall& call, stretto_status s, bool agreed) noexcept {
  return s == STRETTO_INVALID_BOUND || s == STRETTO_UNSUPPORTED || (s == STRETTO_INCOMPATIBLE && agreed) ||
         (s == STRETTO_INVALID_ARGUMENT && (agreed || call.operation == Function::allgatherv));
}

std::string rule_of(const Decision& d) { return "rule of line " + std::to_string(d.line); }

// What decided before the C API did, and what did there.
std::string why_served(const Decision& d, const stretto_report& r) {
  std::string why;
  if (d.line > 0)
    why = rule_of(d);
  else if (d.kind == Action::Kind::bounded)
    why = d.communicator->bound ? "the communicator's bound" : "STRETTO_BOUND";
  else if (d.fixed)
    why = "STRETTO_REPRODUCIBLE";
  if (d.line > 0 && std::string_view(r.reason) == "forced") return why;
  if (std::string_view(r.reason).empty()) return why;
  return why.empty() ? r.reason : why + "; " + r.reason;
}

class Account {
 public:
  Account(Runtime& r, const WrappedCall& call) : statistics_(r.settings.report ? &r.statistics : nullptr), call_(call) {
    if (statistics_) begun_ = Clock::now();
  }
  bool wanted() const noexcept { return statistics_ != nullptr; }
  void passed_on(const Decision& d, const std::string& why) {
    if (statistics_) note({name_of(call_), "MPI", d.kind == Action::Kind::off ? rule_of(d) : why}, d, {}, Server::mpi);
  }
  void served(const Decision& d, const stretto_report& r) {
    if (!statistics_) return;
    Tally t;
    t.raw_bytes = static_cast<double>(r.raw_bytes);
    t.sent_bytes = static_cast<double>(r.bytes_sent);
    t.known = r.bytes_known;
    t.promised_error = r.promised_error;
    if (d.kind == Action::Kind::bounded) t.error_with_rounding = r.error_with_rounding;
    t.predicted = r.predicted_seconds;
    t.predicted_mpi = r.mpi_seconds;
    if (r.ignored > 0) t.ignored = {1, r.ignored, r.range_lo, r.range_hi, r.ignored_lo, r.ignored_hi};
    const bool plain = std::string_view(r.payload) == "raw";
    const Server server = std::string_view(r.algorithm) == "native" ? Server::mpi : Server::stretto;
    note({name_of(call_), plain ? r.algorithm : std::string(r.algorithm) + ", " + r.payload, why_served(d, r)}, d, t,
         server);
  }

 private:
  void note(const Way& way, const Decision& d, Tally t, Server server) {
    t.calls = 1;
    t.bytes = call_.form == Form::persistent ? 0 : static_cast<double>(d.shape.bytes);  // its starts move them
    t.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    statistics_->add(way, t, server);
  }

  Statistics* statistics_;
  const WrappedCall& call_;
  Clock::time_point begun_;
};

// Numbers that stand alone become N, so that calls which differ in their counts alone are one row of the report.
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

// Whether the next call with these arguments is decided like this one, whatever its data, its site, and the names of what it uses.
bool decided(const Decision& d, const Settings& settings) noexcept {
  return d.kind != Action::Kind::bounded && !d.communicator->devices && !settings.rules.looks_at_names();
}

// A rank alone waits for nobody. Programs that work on a grid make such calls by the ten thousand, where a row or a column has one rank.
bool alone(const Communicator* c) noexcept { return c && c->size == 1 && !c->inter; }

int dispatch(Runtime& r, const WrappedCall& call, Communicator* communicator, Native native) {
  Account account(r, call);
  Decision d = decide(call, communicator, r);
  if (!d.why && call.form == Form::nonblocking)
    return start_driven(call, *d.communicator, d.shape, r.settings, call.request);
  if (!d.why && call.form == Form::persistent) d.why = "persistent";  // the MPI's request; starts are ours
  if (d.why) {
    const int code = run(call, d.communicator, r.settings, native);
    if (d.early && took_part(code)) d.communicator->use += use_of(d.shape.bytes);
    account.passed_on(d, d.why);
    return code;
  }
  // Not the MPI's either: a child that sends would do so as its parent.
  if (const Status s = api::usable(d.communicator->comm); s != Status::ok) return raise(call, call::to_c(s));
  std::optional<stretto_report> report;  // long, and seldom wanted
  if (account.wanted()) report = stretto_report STRETTO_REPORT_INIT;
  const stretto_options options = options_of(d, r.settings, report ? &*report : nullptr);
  Passed passed;
  const stretto_status s = serve(call, *d.communicator, d.shape, options, &passed);
  if (s == STRETTO_OK) {
    if (report)  // each call is a line of its account
      account.served(d, *report);
    else if (decided(d, r.settings))
      d.communicator->prepared.keep(call, *d.communicator, passed);
    return MPI_SUCCESS;
  }
  if (!falls_through(call, s, options.check || options.bound_kind == STRETTO_BOUND_RELATIVE)) return raise(call, s);
  const std::string why = account.wanted() ? kind_of(stretto_message()) : "";
  const int code = run(call, d.communicator, r.settings, native);
  account.passed_on(d, why);
  return code;
}

// True: a call like this one is kept, and ran; *code is what it returns.
bool again(const Settings& settings, const WrappedCall& call, Communicator* c, Native native, int* code) {
  stretto_status s = STRETTO_OK;
  if (!c || !c->prepared.again(call, *c, settings.timeout, &s)) return false;
  if (s == STRETTO_OK) [[likely]]
    *code = MPI_SUCCESS;
  else
    *code = falls_through(call, s, false) ? run(call, c, settings, native) : raise(call, s);
  return true;
}

}  // namespace

const char* unless_started(const WrappedCall& call, Communicator& c, const Runtime& runtime, Shape* shape) {
  const Decision d = decide(call, &c, runtime);
  *shape = d.shape;
  return d.why;
}

int perform(const WrappedCall& call, Native native) noexcept {
  if (inside || call.comm == MPI_COMM_NULL) return native();
  Runtime* r = runtime();
  if (!r) return native();
  Communicator* const c = find_communicator(call.comm);
  if (alone(c) && !r->settings.report) return native();
  try {
    if (int code = MPI_SUCCESS; again(r->settings, call, c, native, &code)) return code;
    return dispatch(*r, call, c, native);
  } catch (...) {
    return raise(call, STRETTO_OUT_OF_MEMORY);
  }
}

}  // namespace stretto::mpi
