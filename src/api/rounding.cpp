#include "api/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "api/profiling.hpp"
#include "base/float_environment.hpp"
#include "call/enums.hpp"
#include "codec/codec.hpp"
#include "codec/stream/format.hpp"
#include "payload/arithmetic/arithmetic.hpp"

namespace stretto::api {

using namespace call;

namespace {

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
  if ((picks || r.contributions < 2) && !(half && r.streams)) return 0;
  if (!r.bounded || !(picks || is_sum(s.op)) || std::isinf(additions)) return HUGE_VAL;
  const FloatEnvironment environment;
  // Halves are rounded by way of float32, means of float32 by way of float64.
  const double twice = half || s.op == STRETTO_MEAN ? 1.0002 : 1;
  return additions + twice * half_unit(s.type, largest(r));
}

double unseen_additions(const Shape& s, std::uint64_t contributions) noexcept {
  return is_sum(s.op) && contributions > (s.op == STRETTO_MEAN ? 1 : 2) ? HUGE_VAL : 0;
}

Status round_as_received(stretto_type type, std::size_t count, stretto_bound bound, const stretto_report& report,
                         void* values) noexcept {
  if (std::string_view(report.payload) == "raw") return Status::ok;
  if (std::string_view(report.payload) == payload::name(payload::Kind::bfloat16)) {
    payload::round_to_bfloat16(values, count);
    return Status::ok;
  }
  const FloatEnvironment environment;
  constexpr std::size_t part = std::size_t{256} * codec::kGroup;
  const codec::Type t = codec_type(type);
  const std::size_t capacity = codec::compress_bound(t, std::min(count, part));
  const std::unique_ptr<std::byte[]> stream(new (std::nothrow) std::byte[capacity]);
  if (!stream) return fail(Status::out_of_memory, "no {} bytes to round the values that were sent", capacity);
  codec::Options options;
  if (bound == STRETTO_BOUND_RELATIVE)
    options.magnitude = std::max(std::fabs(report.range_lo), std::fabs(report.range_hi));
  Status s = Status::ok;
  for (std::size_t done = 0; done < count && s == Status::ok; done += part) {
    const std::size_t n = std::min(part, count - done);
    std::byte* const at = static_cast<std::byte*>(values) + done * stretto_type_size(type);
    std::size_t bytes = 0;
    s = codec::compress(t, at, n, report.eps, {stream.get(), capacity}, &bytes, options);
    if (s == Status::ok) s = codec::decompress({stream.get(), bytes}, at, n);
  }
  return s;
}

}  // namespace stretto::api
