#include "select/ratios.hpp"

#include <bit>

#include "select/mix.hpp"

namespace stretto::select {

std::uint64_t key_of(const call::Call& call, std::size_t bytes) noexcept {
  const stretto_options& o = call.settings.options;
  std::uint64_t h = mix(bytes, static_cast<std::uint64_t>(call.collective));
  h = mix(h, static_cast<std::uint64_t>(call.type) << 16 | static_cast<std::uint64_t>(o.bound_kind) << 8 |
                 static_cast<std::uint64_t>(o.scope));
  return mix(h, std::bit_cast<std::uint64_t>(o.bound)) | 1;
}

std::optional<call::Shrinks> Ratios::recall(const call::Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  const Entry& e = entries_[key % entries_.size()];
  return e.key == key ? std::optional(e.ratios) : std::nullopt;
}

void Ratios::remember(const call::Call& call, std::size_t bytes, const call::Shrinks& ratios) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entries_[key % entries_.size()];
  if (e.key == key && e.ratios == ratios) return;
  e = {key, ratios};
  ++changes_;
}

}  // namespace stretto::select
