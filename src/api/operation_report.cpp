#include "api/operation.hpp"
#include "api/report.hpp"
#include "api/types.hpp"

namespace stretto::api {
namespace {

// Of no value at all 0 to 0.
void tell_range(const codec::Ranges& values, stretto_report* r) noexcept {
  r->ignored = values.ignored;
  if (!values.below.empty()) r->range_lo = values.below.lo, r->range_hi = values.below.hi;
  if (!values.all.empty()) r->ignored_lo = values.all.lo, r->ignored_hi = values.all.hi;
}

}  // namespace

void Operation::report() noexcept {
  stretto_report* out = call_.settings.options.report;
  if (!out) return;
  stretto_report r = STRETTO_REPORT_INIT;
  const bool once =
      !reduces(call_.collective) && plan_.payload > STRETTO_PAYLOAD_RAW && plan_.payload != STRETTO_PAYLOAD_CPRP2P;
  set_name(r.algorithm, plan_.native                  ? plan_.native->name()
                        : ran_.algorithm.front() == 0 ? agreement_name
                                                      : ran_.algorithm.data());
  set_name(r.payload, once ? "compress_once" : payload_name(plan_.payload));
  r.contributions = plan_.contributions;
  r.raw_bytes = ran_.raw_bytes;
  r.bytes_sent = ran_.bytes_sent;
  r.ratio = ran_.ratio();
  r.bytes_known = !plan_.native || plan_.payload != STRETTO_PAYLOAD_RAW;
  r.eps = plan_.eps;
  r.promised_error = plan_.promised;
  if (plan_.payload > STRETTO_PAYLOAD_RAW)
    r.codec_seconds = ran_.compress_seconds + ran_.decompress_seconds + ran_.combine_seconds;
  r.agree_seconds = agree_seconds_;
  r.seconds = took_ > 0 ? took_ : seconds();
  r.predicted_seconds = plan_.why.seconds;
  r.mpi_seconds = plan_.why.mpi;
  set_name(r.reason, name(!plan_.native && ran_.algorithm.empty() ? Reason::agreement : plan_.why.reason));
  r.expected_ratio = plan_.ratio;
  r.raw_below = plan_.raw_below;
  r.trial = plan_.trial != 0 ? 1 : 0;
  if (call_.prospect.range && call_.settings.options.bound_kind == STRETTO_BOUND_RELATIVE)
    tell_range(merged_.values, &r);
  deliver(r, out);
}

}  // namespace stretto::api
