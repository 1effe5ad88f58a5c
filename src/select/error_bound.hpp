// Turns a bound into an eps for each contribution, and tells the error of the result. Two things move a sum away from
// the exact one: streams quantise values, and additions in the values' own type round. A bound for the result covers
// both.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "call/call.hpp"
#include "payload/payload.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// How a vector travels, and how many contributions it has: its error depends on these.
struct Terms {
  payload::Kind kind = payload::Kind::raw;
  std::uint64_t contributions = 1;  // K
  int ranks = 1;                    // p
  int hosts = 0;                    // with raw sums inside each of so many; 0: all is added as `kind` says
  double inside = 0;  // of these raw sums: added up over the hosts, roundings() of as many values as a host has ranks
  bool some_raw = false;  // short messages travel raw beside streams of codes
};

// Each addition of values in their own type rounds by at most a unit of the sum so far. For k values of at most 1 that
// makes 2 + 3 + ... + k units in all. No order of the additions rounds more.
constexpr double roundings(double k) noexcept { return k * (k + 1) / 2 - 1; }

// The quantisation error of the result is at most this * eps; under a statistical scope, with its probability. Sums in
// code space: K. Sums that recompress: K inputs and p - 1 combinations, each compressed once, so K + p - 1. With raw
// sums inside hosts, the inputs are these sums. Sums in code space with short messages raw: K + 1, since a raw sum is
// compressed again.
double error_factor(const Call& call, const Terms& terms) noexcept;

// The bound in units of the data; 0: a fraction of a range of 0. invalid_bound where it is not finite.
Status absolute_bound(const Call& call, const Agreed& agreed, double* bound) noexcept;

// The absolute bound for each contribution. 0: values travel raw, or only exact ones will do (a range of 0, say).
// invalid_bound where the bound is not finite, or where it is for the result and additions in the type may round by
// more.
Status eps_of(const Call& call, const Terms& terms, const Agreed& agreed, double* eps) noexcept;

// The error of the result is at most this, its last rounding aside: quantisation and, where the bound is for the
// result, all additions.
double error_of(const Call& call, const Terms& terms, const Agreed& agreed, double eps) noexcept;

// By how much additions in the values' own type move the result beyond error_of(), which counts them where the bound is
// for the result. Infinite where they round and the ranks have not `agreed` on the values' magnitude: null.
double rounding_beside(const Call& call, const Terms& terms, const Agreed* agreed, double eps) noexcept;

// Whether a call adds floating values and has a bound for their sum (or mean) itself.
bool bounds_sum(const Call& call) noexcept;

// Whether the error of a call on so many ranks depends on the magnitude of the values, which the ranks must then agree
// on.
bool rounds(const Call& call, int ranks) noexcept;

// Whether a call with payload AUTO must add in code space: additions in the type might take more than half of the bound
// for its result.
bool adds_codes_alone(const Call& call, const Agreed& agreed, std::uint64_t contributions, int ranks) noexcept;

}  // namespace stretto::select
