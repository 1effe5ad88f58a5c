// A sum has two errors: streams quantise values, and additions in the values' own type round. A bound for the result
// covers both.
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
  double inside = 0;      // sum over the hosts of roundings(ranks of the host), for raw sums inside
  bool some_raw = false;  // short messages travel raw beside streams of codes
};

// Each addition in the values' own type rounds by at most a unit of the sum so far: for k values of at most 1, in any
// order, at most 2 + 3 + ... + k units.
constexpr double roundings(double k) noexcept { return k * (k + 1) / 2 - 1; }

// Quantisation error of the result in units of eps; under a statistical scope, with its probability. Sums in code
// space: K. Sums that recompress: K inputs and p - 1 combinations, each compressed once, so K + p - 1. Raw sums inside
// hosts are such inputs. Sums in code space with short messages raw: K + 1, since a raw sum is compressed again.
double error_factor(const Call& call, const Terms& terms) noexcept;

// In units of the data; 0: a fraction of an empty range; may be infinite.
double absolute_bound(const Call& call, const Agreement& agreed) noexcept;

// Sets the other figures of a bound whose `absolute` is known. `magnitude`: the ranks agreed on that of their values.
Status divide(const Call& call, const Terms& terms, const Agreement& agreed, bool magnitude, Bound* bound) noexcept;

// Per contribution, of an absolute bound. 0: values travel raw, or must be exact (e.g. for a range of 0). invalid_bound:
// the bound is not finite, or it is for the result and additions in the type may round by more.
Status eps_of(const Call& call, const Terms& terms, const Agreement& agreed, double bound, double* eps) noexcept;

// For the result before its last rounding: quantisation and, if the bound is for the result, all additions.
double error_of(const Call& call, const Terms& terms, const Agreement& agreed, double eps) noexcept;

// The call adds floating-point values and has a bound for their sum (or mean) itself.
bool bounds_sum(const Call& call) noexcept;

// The error depends on the values' magnitude, on which the ranks must then agree.
bool rounds(const Call& call, int ranks) noexcept;

// A call with payload AUTO must add in code space: additions in the type might use more than half of its (absolute)
// bound for the result.
bool adds_codes_alone(const Call& call, const Agreement& agreed, double bound, std::uint64_t contributions,
                      int ranks) noexcept;

}  // namespace stretto::select
