#include "api/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_environment.hpp"
#include "call/enums.hpp"
#include "codec/codec.hpp"

namespace stretto::api {

using namespace call;

namespace {

// Half the distance to the type's next value.
double half_unit(stretto_type type, double magnitude) noexcept {
  const int bits = type == STRETTO_F64 ? 53 : type == STRETTO_F32 ? 24 : type == STRETTO_F16 ? 11 : 8;
  const int least = type == STRETTO_F64 ? -1022 : type == STRETTO_F16 ? -14 : -126;
  if (magnitude == 0) return 0;
  const double half = std::ldexp(1, std::max(std::ilogb(magnitude), least) - bits);
  return std::max(half, std::numeric_limits<double>::denorm_min());
}

bool is_half(stretto_type t) noexcept { return t == STRETTO_F16 || t == STRETTO_BF16; }

bool is_sum(stretto_op op) noexcept { return op == STRETTO_SUM || op == STRETTO_DIFFERENCE || op == STRETTO_MEAN; }

// The largest magnitude of the finite values; 0 for a reduction at another root.
double largest(const Result& r) noexcept {
  const Shape& s = r.shape;
  if (s.count == 0 || (rooted(s.collective) && s.root != r.rank)) return 0;
  codec::Ranges found;
  if (!r.values || codec::value_ranges(codec_type(s.type), r.values, s.count, HUGE_VAL, &found) != Status::ok)
    return HUGE_VAL;
  const codec::Interval& all = found.all;
  return all.empty() ? 0 : std::max(std::fabs(all.lo), std::fabs(all.hi));
}

}  // namespace

double rounding_of(const Result& r, double additions) noexcept {
  const Shape& s = r.shape;
  const bool half = is_half(s.type);
  if (!is_floating(s.type)) return 0;
  if (!reduces(s.collective)) return half && r.streams ? HUGE_VAL : 0;
  const bool picks = s.op == STRETTO_MIN || s.op == STRETTO_MAX;
  if ((picks || r.contributions < 2) && !(half && r.streams)) return 0;  // one of the values, or within eps of it
  if (!r.bounded || !(picks || is_sum(s.op)) || std::isinf(additions)) return HUGE_VAL;
  const FloatEnvironment environment;
  // Float16 and bfloat16 are rounded by way of float32, means of float32 by way of float64.
  const double twice = half || s.op == STRETTO_MEAN ? 1.0002 : 1;
  return additions + twice * half_unit(s.type, largest(r));
}

double unseen_additions(const Shape& s, std::uint64_t contributions) noexcept {
  return is_sum(s.op) && contributions > (s.op == STRETTO_MEAN ? 1 : 2) ? HUGE_VAL : 0;
}

}  // namespace stretto::api
