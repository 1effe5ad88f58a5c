// A bound for the result covers both quantisation and the rounding of additions in the values' own type.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "call/call.hpp"
#include "payload/payload.hpp"
#include "select/decision.hpp"

namespace stretto::select {

struct Terms {
  payload::Kind kind = payload::Kind::raw;
  std::uint64_t contributions = 1;
  int ranks = 1;
  int hosts = 0;          // with raw sums inside; 0: every sum uses `kind`
  double inside = 0;      // sum over the hosts of roundings(ranks of the host)
  bool some_raw = false;  // short messages travel raw beside streams of codes
};

// Each addition rounds by at most a unit of the sum so far: k values of at most 1, in any order, by at most 2 + 3 + ...
// + k units.
constexpr double roundings(double k) noexcept { return k * (k + 1) / 2 - 1; }

// Quantisation error of the result in units of eps; under a statistical scope, with its probability. Sums in code
// space: K. Sums that recompress: K + p - 1. Raw sums inside hosts are such inputs. With short messages raw: K + 1,
// since a raw sum is compressed again.
double error_factor(const Call& call, const Terms& terms) noexcept;

double absolute_bound(const Call& call, const AgreedValues& agreed) noexcept;

// Sets the other figures, given `absolute`. `magnitude`: the ranks agreed on it.
Status divide(const Call& call, const Terms& terms, const AgreedValues& agreed, bool magnitude, Bound* bound) noexcept;

// Per contribution, of an absolute bound. 0: values travel raw, or must be exact (e.g. for a range of 0).
// invalid_bound: it is not finite, or it is for the result and additions may round by more.
Status eps_of(const Call& call, const Terms& terms, const AgreedValues& agreed, double bound, double* eps) noexcept;

// The result's error before its last rounding; if the bound is for the result, with all additions.
double error_of(const Call& call, const Terms& terms, const AgreedValues& agreed, double eps) noexcept;

// A bound for the sum or mean of floating-point values itself.
bool bounds_sum(const Call& call) noexcept;

// The error depends on the values' magnitude, on which the ranks must agree.
bool rounds(const Call& call, int ranks) noexcept;

// Additions in the type might use more than half of the bound: payload AUTO must add codes.
bool adds_codes_alone(const Call& call, const AgreedValues& agreed, double bound, std::uint64_t contributions,
                      int ranks) noexcept;

}  // namespace stretto::select
