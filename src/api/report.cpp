#include "api/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/communicator.hpp"
#include "api/rounding.hpp"
#include "call/enums.hpp"

namespace stretto::api {
namespace {

void set_name(char (&to)[STRETTO_NAME_MAX], const char* name) noexcept {
  const std::size_t n = std::min(std::strlen(name), std::size_t{STRETTO_NAME_MAX} - 1);
  std::memcpy(to, name, n);
  to[n] = 0;
}

const char* payload_of(const select::Decision& d, call::Collective collective) noexcept {
  const bool moves = !call::reduces(collective) && call::is_compressed(d.payload);
  return moves ? payload::name(call::payload_kind(d.payload), false) : call::payload_name(d.payload);
}

const char* algorithm_of(const EndedCall& c) noexcept {
  if (!c.moved) return "agreement";
  const char* const backend = c.comm.backends.of(c.decision.choice.provider).name();
  return backend ? backend : c.ran->algorithm.data();
}

void tell_range(const codec::Ranges& values, stretto_report* r) noexcept {
  r->ignored = values.ignored;
  if (!values.below.empty()) r->range_lo = values.below.lo, r->range_hi = values.below.hi;
  if (!values.all.empty()) r->ignored_lo = values.all.lo, r->ignored_hi = values.all.hi;
}

}  // namespace

void report(const EndedCall& c) noexcept {
  stretto_report* const out = c.options.report;
  if (!out) return;
  static const select::Decision none;
  const select::Decision& d = c.moved ? c.decision : none;
  const select::Choice& choice = d.choice;
  const bool scheduled = choice.provider == Provider::schedules;
  const bool bounded = c.options.bound_kind != STRETTO_BOUND_NONE;
  stretto_report r = STRETTO_REPORT_INIT;
  set_name(r.algorithm, algorithm_of(c));
  set_name(r.payload, payload_of(d, c.shape.collective));
  r.contributions = d.contributions;
  r.ratio = 1;
  if (c.ran) {
    r.raw_bytes = c.ran->raw_bytes;
    r.bytes_sent = c.ran->bytes_sent;
    r.ratio = c.ran->ratio();
    r.wait_seconds = c.ran->wait_seconds;
    if (d.payload > STRETTO_PAYLOAD_RAW)
      r.codec_seconds = c.ran->compress_seconds + c.ran->decompress_seconds + c.ran->combine_seconds;
  }
  r.bytes_known = !c.moved || (scheduled && !choice.in_node) || choice.through_nodes() || d.streams();
  r.eps = d.bound.eps;
  r.promised_error = d.bound.error;
  double rounding = 0;
  if (c.moved && asks_for_rounding(*out))
    rounding = rounding_of({c.shape, c.comm.rank, d.inputs, bounded, d.streams(), c.result}, d.bound.rounding);
  if (has_rounding(*out) && !asks_for_rounding(*out))
    r.error_with_rounding = HUGE_VAL;
  else
    r.error_with_rounding = rounding > 0 ? std::nextafter(d.bound.error + rounding, HUGE_VAL) : d.bound.error;
  r.agree_seconds = c.agree_seconds;
  r.seconds = c.seconds;
  r.predicted_seconds = choice.why.seconds;
  r.mpi_seconds = choice.why.mpi;
  set_name(r.reason, select::name(c.moved ? choice.why.reason : select::Reason::agreement));
  set_name(r.profile, c.comm.selector.choices().messages());
  r.expected_ratio = d.ratio;
  r.raw_below = choice.raw_below;
  if (call::keeps_bound(d.payload)) r.coding = call::to_c(d.spec.coding);
  r.split = scheduled ? choice.split : 0;
  set_name(r.device_carrier, c.device_carrier);
  if (c.ranges && d.needs.range && c.options.bound_kind == STRETTO_BOUND_RELATIVE) tell_range(*c.ranges, &r);
  r.size = out->size;
  std::memcpy(out, &r, std::min(out->size, sizeof r));
}

}  // namespace stretto::api
