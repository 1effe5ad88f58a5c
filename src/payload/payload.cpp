#include "payload/payload.hpp"

#include <cmath>
#include <string_view>

#include "base/float_environment.hpp"

namespace stretto::payload {
bool find(const char* text, Kind* kind) noexcept {
  if (std::string_view(text) == "doc") text = name(Kind::recompress);
  for (const Traits& t : kAllTraits) {
    if (std::string_view(text) != t.name) continue;
    *kind = t.kind;
    return true;
  }
  return false;
}

Status check(const Spec& spec, bool reduces) noexcept {
  if (size_of(spec.type) == 0)
    return fail(Status::invalid_argument, "{} is no element type", static_cast<int>(spec.type));
  if (reduces) {
    if (spec.op == Op::user && spec.user.function == nullptr)
      return fail(Status::invalid_argument, "no user function is given");
    if (!defined(spec.op, spec.type))
      return fail(Status::unsupported, "{} is not defined on {}", name(spec.op), name(spec.type));
  }
  if (!is_compressed(spec.kind)) return Status::ok;
  if (traits(spec.kind).form == Form::halves && spec.type != Type::f32)
    return fail(Status::unsupported, "payload {} takes {}, not {}", name(spec.kind), name(Type::f32), name(spec.type));
  const auto type = codec_type(spec.type);
  if (!type) return fail(Status::unsupported, "{} cannot travel compressed ({})", name(spec.type), name(spec.kind));
  if (reduces && !compressible(spec.op)) {
    return fail(Status::unsupported, "{} is not offered on compressed payloads ({})", name(spec.op), name(spec.kind));
  }
  if (!keeps_bound(spec.kind)) return Status::ok;
  const FloatEnvironment environment;  // subnormal bounds count, even if the caller flushes them
  const bool lossless = *type == codec::Type::i32 || *type == codec::Type::i64;
  if (!lossless && !(std::isfinite(spec.eps) && spec.eps > 0)) {
    return fail(Status::invalid_bound, "bound {} is not finite and positive", spec.eps);
  }
  return Status::ok;
}

double error_factor(const Spec& spec, bool reduces, int ranks) noexcept {
  if (!keeps_bound(spec.kind) || spec.type == Type::i32 || spec.type == Type::i64) return 0;
  if (!reduces || spec.op == Op::min || spec.op == Op::max) return 1;
  const bool exact_sums = traits(spec.kind).adds_codes;
  const double terms = spec.nodes > 0 ? spec.nodes : ranks;
  const double sum = !exact_sums ? 2.0 * terms - 1 : spec.raw_below > 0 ? terms + 1 : terms;
  return spec.op == Op::mean ? sum / ranks : sum;
}

}  // namespace stretto::payload
