#include "call/call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "call/enums.hpp"

namespace stretto::call {

namespace {

void call_user(const void* left, void* right, std::size_t count, void* context) {
  const auto& call = *static_cast<const Call*>(context);
  const stretto_options& o = call.settings.options;
  o.user_function(left, right, count, call.type, o.user_context);
}

}  // namespace

payload::UserFunction user_function(const Call& call) noexcept {
  return {call_user, const_cast<Call*>(&call), call.settings.options.user_commutes != 0};
}

bool is_exact(const Call& c) noexcept {
  return c.op == STRETTO_MIN || c.op == STRETTO_MAX || (!is_floating(c.type) && c.op != STRETTO_USER);
}

bool needs_order(const Call& c) noexcept {
  return reduces(c.collective) && c.op == STRETTO_USER && !c.settings.options.user_commutes;
}

Status read_options(const stretto_options* given, Settings* settings) {
  *settings = {};
  if (!given) return Status::ok;
  // `size` and the bound are in every version. A longer struct of a newer header may have only zeros beyond.
  constexpr std::size_t least = offsetof(stretto_options, schedule), most = 4096;
  if (given->size < least || given->size > most)
    return fail(Status::invalid_argument, "options.size is {}; use STRETTO_OPTIONS_INIT", given->size);
  stretto_options& o = settings->options;
  std::memcpy(&o, given, std::min(given->size, sizeof o));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (given->size > sizeof o && std::any_of(bytes + sizeof o, bytes + given->size, [](unsigned char b) { return b; }))
    return fail(Status::unsupported, "options of {} bytes set fields that this library ({} bytes) does not know",
                given->size, sizeof o);
  o.size = sizeof o;
  if (o.schedule) settings->schedule = o.schedule;
  o.schedule = nullptr;
  if (!o.parts && o.part_count)
    return fail(Status::invalid_argument, "options.parts is NULL with part_count {}", o.part_count);
  constexpr std::size_t most_parts = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(stretto_part);
  if (o.part_count > most_parts)
    return fail(Status::invalid_argument, "options.part_count is {}; at most {}", o.part_count, most_parts);
  if (o.parts) settings->parts.assign(o.parts, o.parts + o.part_count);
  o.parts = nullptr;
  return Status::ok;
}

void settle_payload(Call* call) noexcept {
  stretto_options& o = call->settings.options;
  if (o.reproducible && o.bound_kind != STRETTO_BOUND_NONE && o.payload == STRETTO_PAYLOAD_AUTO &&
      reduces(call->collective) && !schedule::is_prefix(call->collective) && is_floating(call->type))
    o.payload = STRETTO_PAYLOAD_FUSED;
}

}  // namespace stretto::call
