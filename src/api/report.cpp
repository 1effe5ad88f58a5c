#include "api/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "call/enums.hpp"

namespace stretto::api {
namespace {

void set_name(char (&to)[STRETTO_NAME_MAX], const char* name) noexcept {
  const std::size_t n = std::min(std::strlen(name), std::size_t{STRETTO_NAME_MAX} - 1);
  std::memcpy(to, name, n);
  to[n] = 0;
}

// Streams that only move are compressed once, but for cprp2p's.
const char* payload_of(const Outcome& o) noexcept {
  const bool once =
      !call::reduces(o.collective) && o.payload > STRETTO_PAYLOAD_RAW && o.payload != STRETTO_PAYLOAD_CPRP2P;
  return once ? "compress_once" : call::payload_name(o.payload);
}

void tell_range(const codec::Ranges& values, stretto_report* r) noexcept {
  r->ignored = values.ignored;
  if (!values.below.empty()) r->range_lo = values.below.lo, r->range_hi = values.below.hi;
  if (!values.all.empty()) r->ignored_lo = values.all.lo, r->ignored_hi = values.all.hi;
}

}  // namespace

void report(const Outcome& o, stretto_report* out) noexcept {
  if (!out) return;
  stretto_report r = STRETTO_REPORT_INIT;
  set_name(r.algorithm, o.algorithm);
  set_name(r.payload, payload_of(o));
  r.contributions = o.contributions;
  r.ratio = 1;
  if (o.ran) {
    r.raw_bytes = o.ran->raw_bytes;
    r.bytes_sent = o.ran->bytes_sent;
    r.ratio = o.ran->ratio();
    r.wait_seconds = o.ran->wait_seconds;
    if (o.payload > STRETTO_PAYLOAD_RAW)
      r.codec_seconds = o.ran->compress_seconds + o.ran->decompress_seconds + o.ran->combine_seconds;
  }
  r.bytes_known = o.bytes_known;
  r.eps = o.eps;
  r.promised_error = o.error;
  if (has_rounding(*out) && !asks_for_rounding(*out))
    r.error_with_rounding = HUGE_VAL;
  else
    r.error_with_rounding = o.rounding > 0 ? std::nextafter(o.error + o.rounding, HUGE_VAL) : o.error;
  r.agree_seconds = o.agree_seconds;
  r.seconds = o.seconds;
  r.predicted_seconds = o.why.seconds;
  r.mpi_seconds = o.why.mpi;
  set_name(r.reason, select::name(o.why.reason));
  set_name(r.profile, o.profile);
  r.expected_ratio = o.expected_ratio;
  r.raw_below = o.raw_below;
  r.coding = o.coding;
  r.split = o.split;
  set_name(r.device_carrier, o.device_carrier);
  if (o.ranges) tell_range(*o.ranges, &r);
  const std::size_t size = out->size;
  r.size = size;
  std::memcpy(out, &r, std::min(size, sizeof r));
}

}  // namespace stretto::api
