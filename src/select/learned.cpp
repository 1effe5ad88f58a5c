#include "select/learned.hpp"

#include <algorithm>
#include <bit>

#include "select/choice/question.hpp"

namespace stretto::select {

std::uint64_t key_of(const call::Call& call, std::size_t bytes) noexcept {
  const stretto_options& o = call.settings.options;
  std::uint64_t h = mix(bytes, static_cast<std::uint64_t>(call.collective));
  h = mix(h, static_cast<std::uint64_t>(call.type) << 16 | static_cast<std::uint64_t>(o.bound_kind) << 8 |
                 static_cast<std::uint64_t>(o.scope));
  return mix(h, std::bit_cast<std::uint64_t>(o.bound)) | 1;
}

namespace {

// Keys are odd.
template <class Entries>
auto& entry_of(Entries& entries, std::uint64_t key) noexcept {
  return entries[(key >> 1) % entries.size()];
}

}  // namespace

std::optional<call::Shrinks> Ratios::recall(const call::Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  const Entry& e = entry_of(entries_, key);
  return e.key == key && e.ratios.fixed > 0 ? std::optional(e.ratios) : std::nullopt;
}

bool Ratios::has_room(const call::Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  return entry_of(entries_, key).key == 0;
}

void Ratios::remember(const call::Call& call, std::size_t bytes, const call::Shrinks& ratios,
                      bool samples_later) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entry_of(entries_, key);
  if (!(ratios.fixed > 0)) {
    if (e.key == key)
      ++e.calls;
    else if (samples_later && e.key == 0)
      e = {.key = key};
    return;
  }
  if (e.key != key || !(e.ratios == ratios)) ++changes_;
  e = {key, ratios, 0};
}

bool Ratios::is_due(const call::Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  const Entry& e = entry_of(entries_, key);
  return e.key != key || e.calls + 1 >= kCallsPerSample;
}

codec::Coding CodingTrials::next(const call::Call& call, std::size_t bytes, bool* measured, bool* warms_up) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entry_of(entries_, key);
  if (e.key != key) {
    e = {};
    e.key = key;
  }
  if (e.calls >= kWarmUp + kTrials + kCallsUntilAgain) {
    e.calls = kWarmUp;
    e.fixed = 0;
    e.won = e.lost = false;
  }
  const bool tries = e.calls < kWarmUp + kTrials && !e.lost;
  *measured = !tries && (e.won || e.lost);
  *warms_up = e.calls < kWarmUp;
  e.latest = e.lost || (tries && e.calls % 2 == 1) ? codec::Coding::fixed : codec::Coding::dense;
  e.open = true;
  e.took = 0;
  return e.latest;
}

std::uint64_t CodingTrials::took(const call::Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  const Entry& e = entry_of(entries_, key);
  return e.key == key && e.open ? e.took : 0;
}

void CodingTrials::ran(const call::Call& call, std::size_t bytes, double seconds) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entry_of(entries_, key);
  if (e.key == key && e.open) e.took = static_cast<std::uint64_t>(std::max(1.0, 1e9 * seconds));
}

void CodingTrials::learn(const call::Call& call, std::size_t bytes, std::uint64_t nanoseconds) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entry_of(entries_, key);
  if (e.key != key || !e.open) return;
  e.open = false;
  const bool is_trial = e.calls >= kWarmUp && e.calls < kWarmUp + kTrials && !e.lost;
  if (is_trial && e.latest == codec::Coding::fixed) e.fixed = nanoseconds;
  if (is_trial && e.latest == codec::Coding::dense && e.fixed > 0 && nanoseconds > 0) {
    const bool gains = static_cast<double>(nanoseconds) < kClearGain * static_cast<double>(e.fixed);
    (gains ? e.won : e.lost) = true;
  }
  ++e.calls;
}

}  // namespace stretto::select
