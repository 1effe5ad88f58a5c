// What a bound leaves for each contribution, and what is promised of the result. Two things move a sum away from the exact one: values that
// travel as streams are quantised, and whatever adds values in their own type rounds at each addition. A bound for the result is for both.
#pragma once

#include <cstdint>

#include "api/collective.hpp"
#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/payload.hpp"

namespace stretto::api {

// What the agreement brought, the same on every rank.
struct Agreed {
  codec::Ranges values;  // of the finite values; empty: there are none, or it was not asked for
  std::uint64_t contributions = 1;
  double ratio = 0;  // of samples; 0: none were taken
};

// How a vector travels and how much of it there is: what its error depends on.
struct Terms {
  payload::Kind kind = payload::Kind::raw;
  std::uint64_t contributions = 1;  // K
  int ranks = 1;                    // p
  int hosts = 0;                    // with raw sums inside each of so many; 0: all is added as `kind` says
  bool short_raw = false;           // short messages travel raw: a sum may be compressed once more
  double inside = 0;  // of these raw sums: added up over the hosts, roundings() of as many values as a host has ranks
};

// Values that are added one after another round at each addition by a unit at most of the sum so far: of k values of at most 1, 2 + 3 + ... + k
// units in all. No other order rounds more.
constexpr double roundings(double k) noexcept { return k * (k + 1) / 2 - 1; }

// |error of the result| <= this * eps from quantisation; for a statistical scope, with its probability. Sums in code space: K. Sums that
// recompress: K inputs and p - 1 meetings, each compressed once, so K + p - 1. With raw sums inside hosts, these are the inputs.
// Where short messages travel raw, a sum that is made of them is one input more.
double error_factor(const Call& call, const Terms& terms) noexcept;

// Absolute bound for each contribution; 0 means that only exact values will do (a range of 0, say) or travel. invalid_bound when the bound is
// not finite; or when it is for the result and what is added in its own type may round by more than it.
Status eps_of(const Call& call, const Terms& terms, const Agreed& agreed, double* eps) noexcept;

// |error of the result| <= this, beside its last rounding: quantisation and, where the bound is for the result, all additions.
double promised(const Call& call, const Terms& terms, const Agreed& agreed, double eps) noexcept;

// Whether a call adds floating values and has a bound for their sum (or mean) itself.
bool bounds_sum(const Call& call) noexcept;

// Whether what is promised of a call on so many ranks depends on how large the values are, which must then be agreed on.
bool rounds(const Call& call, int ranks) noexcept;

// Whether a call that leaves its payload open must add codes alone: additions in the type might take more than half of the bound for its result.
bool adds_codes_alone(const Call& call, const Agreed& agreed, std::uint64_t contributions, int ranks) noexcept;

}  // namespace stretto::api
