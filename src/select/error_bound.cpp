#include "select/error_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "call/enums.hpp"

namespace stretto::select {

using namespace call;

namespace {

using payload::Kind;

bool sums(const Call& c) noexcept { return c.op == STRETTO_SUM || c.op == STRETTO_DIFFERENCE || c.op == STRETTO_MEAN; }

bool adds_some_raw(const Call& c) noexcept {
  return c.settings.options.raw_below > 0 && c.settings.options.payload != STRETTO_PAYLOAD_RAW;
}

bool meets_in_code_space(Kind k) noexcept { return payload::traits(k).adds_codes; }
bool keeps_none(Kind k) noexcept { return payload::is_compressed(k) && !payload::keeps_bound(k); }

struct AdditionRounding {
  double unit, largest;
};
AdditionRounding adding(stretto_type t) noexcept {
  if (t == STRETTO_F16) return {0x1p-11, 65504};
  if (t == STRETTO_BF16) return {0x1p-8, 0x1.fep127};
  if (t == STRETTO_F32) return {0x1p-24, std::numeric_limits<float>::max()};
  return {0x1p-53, std::numeric_limits<double>::max()};
}

// Rounding of sums of values of at most 1, in units, without the result's own rounding.
double units(const Call& c, const Terms& t) noexcept {
  const auto K = static_cast<double>(t.contributions);
  if (K < 2) return 0;
  const bool half = c.type == STRETTO_F16 || c.type == STRETTO_BF16, mean = c.op == STRETTO_MEAN;
  double n = 0;
  if (t.kind == Kind::raw)
    n = roundings(K) - (mean ? 0 : K);  // the last sum is the result, or the dividend
  else if (meets_in_code_space(t.kind) && !t.some_raw)
    n = t.hosts > 0 ? t.inside + (mean ? K : 0) : 0;
  else if (t.some_raw)
    n = (half ? 2 : 1) * roundings(K) + K;  // a sum of codes is rounded when it is first added to raw values
  else
    n = half ? 2 * roundings(K) + K : roundings(K);  // a stream is within eps before it is rounded to 16 bits
  return mean ? n / K : n;
}

// A sum's error, relative to the largest value. Infinite if the estimate is void.
double unit_of(const Call& c, const Terms& t) noexcept {
  const double n = units(c, t), all = static_cast<double>(t.contributions) * adding(c.type).unit;
  if (n == 0) return 0;
  return all > 0.5 ? INFINITY
                   : n * adding(c.type).unit * (1 + 4 * all);  // intermediate sums carry their own rounding errors
}

double largest_of(const AgreedValues& a) noexcept {
  const codec::Interval& all = a.values.all;
  return all.empty() ? 0 : std::max(std::fabs(all.lo), std::fabs(all.hi));
}

double largest_added(const Call& c, const Terms& t, double unit) noexcept {
  return adding(c.type).largest / (static_cast<double>(t.contributions) * (1 + unit)) * (1 - 0x1p-50);
}

// Sums of values of the agreed magnitude, each off by at most 2 eps. Infinite: they may overflow.
double rounding(const Call& c, const Terms& t, const AgreedValues& agreed, double eps) noexcept {
  const double unit = unit_of(c, t), largest = largest_of(agreed) + 2 * eps;
  if (unit == 0 || largest == 0) return 0;
  return largest <= largest_added(c, t, unit) ? unit * largest : INFINITY;
}

double most_eps(const Call& c, const Terms& t, const AgreedValues& agreed) noexcept {
  return (largest_added(c, t, unit_of(c, t)) - largest_of(agreed)) / 2 * (1 - 0x1p-50);
}

Status refuse(const Call& c, const Terms& t, const AgreedValues& agreed, double bound, double rounded) noexcept {
  const stretto_payload asked = c.settings.options.payload;  // none: a native collective is forced
  const char* const payload = payload_name(asked != STRETTO_PAYLOAD_AUTO ? asked : payload_of(t.kind));
  const char* const type = type_name(c.type);
  const double largest = largest_of(agreed);
  if (std::isinf(unit_of(c, t)))
    return fail(Status::invalid_bound,
                "{} of {} contributions in {} with payload {} has no bound for what it rounds by; with fused it does "
                "not round",
                op_name(c.op), t.contributions, type, payload);
  if (std::isinf(rounded))
    return fail(Status::invalid_bound,
                "{} of {} contributions of up to {} may overflow {} with payload {}; with fused it does not",
                op_name(c.op), t.contributions, largest, type, payload);
  return fail(Status::invalid_bound,
              "{} of {} contributions of up to {} may round by {:.3g} in {} with payload {}, and the bound for the "
              "result is {}; with fused it does not",
              op_name(c.op), t.contributions, largest, rounded, type, payload, bound);
}

}  // namespace

double absolute_bound(const Call& c, const AgreedValues& agreed) noexcept {
  const stretto_options& o = c.settings.options;
  return o.bound_kind == STRETTO_BOUND_RELATIVE ? codec::fraction_of(agreed.values.below, o.bound) : o.bound;
}

bool bounds_sum(const Call& c) noexcept {
  const stretto_options& o = c.settings.options;
  return reduces(c.collective) && sums(c) && is_floating(c.type) && o.bound_kind != STRETTO_BOUND_NONE &&
         o.scope != STRETTO_SCOPE_CONTRIBUTION;
}

double error_factor(const Call& call, const Terms& t) noexcept {
  if (t.kind == Kind::raw || !is_floating(call.type)) return 0;
  if (!reduces(call.collective) || !sums(call)) return 1;
  const double divisor = call.op == STRETTO_MEAN ? static_cast<double>(t.contributions) : 1;
  const double K = t.hosts > 0 ? t.hosts : static_cast<double>(t.contributions);
  const int meeting = t.hosts > 0 ? t.hosts : t.ranks;
  if (!meets_in_code_space(t.kind)) return (K + meeting - 1) / divisor;
  const double again = t.some_raw ? 1 : 0;
  if (K < 3) return (K + again) / divisor;
  switch (call.settings.options.scope) {
    case STRETTO_SCOPE_CONTRIBUTION:
    case STRETTO_SCOPE_RESULT: return (K + again) / divisor;
    case STRETTO_SCOPE_RESULT_STATISTICAL_95: return (2.0 / 3.0 * std::sqrt(K) + again) / divisor;
    case STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM: return (2.0 / std::sqrt(3.0) * std::sqrt(K) + again) / divisor;
  }
  return (K + again) / divisor;
}

double error_of(const Call& call, const Terms& terms, const AgreedValues& agreed, double eps) noexcept {
  const double quantised = eps > 0 ? error_factor(call, terms) * eps : 0;
  return bounds_sum(call) ? quantised + rounding(call, terms, agreed, eps) : quantised;
}

// By additions in the values' own type; 0 if error_of() includes it (a bound for the result). Infinite if they round
// values of unknown magnitude.
static double rounding_beside(const Call& call, const Terms& terms, const AgreedValues* agreed, double eps) noexcept {
  if (!reduces(call.collective) || !is_floating(call.type) || !sums(call) || bounds_sum(call)) return 0;
  if (units(call, terms) == 0) return 0;
  return agreed ? rounding(call, terms, *agreed, eps) : INFINITY;
}

Status eps_of(const Call& call, const Terms& terms, const AgreedValues& agreed, double bound, double* eps) noexcept {
  *eps = 0;
  const bool raw = terms.kind == Kind::raw, within = bounds_sum(call);
  if (!is_floating(call.type) || keeps_none(terms.kind) || (raw && !(within && units(call, terms) > 0)))
    return Status::ok;
  if (bound == 0) return Status::ok;
  const stretto_options& o = call.settings.options;
  if (!std::isfinite(bound)) {
    const codec::Interval& range = agreed.values.below;
    return fail(Status::invalid_bound, "{} of the range {} to {} is not finite", o.bound, range.lo, range.hi);
  }
  if (o.scope == STRETTO_SCOPE_CONTRIBUTION || !reduces(call.collective)) {
    *eps = bound;
    return Status::ok;
  }
  const double rounded = within ? rounding(call, terms, agreed, 0) : 0;
  // A margin for the difference's own rounding.
  const double left = rounded > 0 ? bound * (1 - 0x1p-50) - rounded : bound;
  if (raw ? rounded > bound : !(left > 0)) return refuse(call, terms, agreed, bound, rounded);
  if (raw) return Status::ok;
  const double unit = within ? unit_of(call, terms) : 0;
  double e = left / (error_factor(call, terms) + 2 * unit);
  e = std::isfinite(e) ? e : bound;
  if (unit > 0) e = std::min(e, most_eps(call, terms, agreed));
  // rounding must not break the bound
  while (e > 0 && error_of(call, terms, agreed, e) > bound) e = std::nextafter(e, 0.0);
  if (!(e > 0))
    return fail(Status::invalid_bound, "bound {} for the result leaves nothing for each of {} contributions", bound,
                terms.contributions);
  *eps = e;
  return Status::ok;
}

Status divide(const Call& call, const Terms& terms, const AgreedValues& agreed, bool magnitude, Bound* bound) noexcept {
  const Status s = eps_of(call, terms, agreed, bound->absolute, &bound->eps);
  if (s != Status::ok) return s;
  bound->error = keeps_none(terms.kind) ? HUGE_VAL : error_of(call, terms, agreed, bound->eps);
  bound->rounding = rounding_beside(call, terms, magnitude ? &agreed : nullptr, bound->eps);
  return s;
}

bool rounds(const Call& call, int ranks) noexcept {
  if (!bounds_sum(call)) return false;
  const bool several = call.collective == Collective::allreduce_multi;
  if (adds_some_raw(call)) return ranks > 1;
  const stretto_payload payload = call.settings.options.payload;
  if (adds_codes(payload)) return false;
  if (is_compressed(payload)) return several || ranks > 1;
  if (payload == STRETTO_PAYLOAD_AUTO && several) return false;  // always as codes
  return several || ranks > (call.op == STRETTO_MEAN ? 1 : 2);
}

bool adds_codes_alone(const Call& call, const AgreedValues& agreed, double bound, std::uint64_t contributions,
                      int ranks) noexcept {
  if (call.settings.options.payload != STRETTO_PAYLOAD_AUTO || !rounds(call, ranks)) return false;
  Terms most{Kind::raw, contributions, ranks};  // raw sums inside hosts round no more
  if (adds_some_raw(call)) {
    most.kind = Kind::fused;
    most.some_raw = true;
  }
  if (!std::isfinite(bound) || bound == 0) return false;
  return !(rounding(call, most, agreed, bound) <= bound / 2);
}

}  // namespace stretto::select
