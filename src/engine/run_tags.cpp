#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/run.hpp"

namespace stretto::engine {
namespace {

// Injective in `value`; engine::mix() spreads it over all bits.
constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) noexcept {
  return std::rotl((hash ^ value) * 0x9E3779B97F4A7C15u, 29);
}

}  // namespace

// Covers arguments that are equal on all ranks. Values that only move raw count as bytes, whatever their type. In an
// alltoall a rank knows only its own counts.
std::uint64_t Run::signature() const noexcept {
  const schedule::Schedule& s = *schedule_;
  const auto word = [](auto high, auto low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  std::uint64_t hash = sequence_;  // std::hash differs between processes
  for (const char c : s.algorithm) hash = fold(hash, static_cast<unsigned char>(c));
  hash = fold(hash, word(s.collective, s.root));
  if (s.collective != schedule::Collective::alltoall) {
    const std::size_t total = std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0},
                                              [](std::size_t sum, const Block& b) { return sum + b.count; });
    hash = fold(hash, worker_.raw_bytes(total));
  }
  const bool streams = spec_.kind != payload::Kind::raw;
  if (!reduces_ && !streams) return hash;
  hash = fold(hash, word(static_cast<unsigned>(spec_.kind) << 16 | static_cast<unsigned>(spec_.type) << 8 |
                             (reduces_ ? static_cast<unsigned>(spec_.op) : 0),
                         contributions_));
  return streams ? fold(hash, std::bit_cast<std::uint64_t>(spec_.eps)) : hash;
}

std::uint64_t Run::tag_of(const Unit& unit) const noexcept {
  return tags_.tag(sequence_, unit.message, mix(signature_, worker_.raw_bytes(elements(unit))));
}

// A message from a rank that exchanges messages with this one, under this run's number, belongs to it or proves a
// different call.
Status Run::compare_calls() noexcept {
  std::int32_t looked = -1;
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    if (!under_way(u) || unit.peer == looked) continue;
    looked = unit.peer;
    carrier::Arrival arrival;
    if (!carrier_->peek(unit.peer, &arrival) || !tags_.may_be_of(sequence_, arrival.tag)) continue;
    if (const Status s = compare_call(arrival); s != Status::ok) return s;
  }
  return Status::ok;
}

Status Run::compare_call(const carrier::Arrival& arrival) noexcept {
  const std::uint32_t number = tags_.number(arrival.tag);
  const auto expected = std::find_if(plan_.units.begin(), plan_.units.end(), [&](const Unit& unit) {
    return receives(unit.task) && unit.peer == arrival.peer && unit.message == number;
  });
  if (expected != plan_.units.end() && tag_of(*expected) == arrival.tag) return Status::ok;
  try {
    const std::string came = fmt::format("{}: rank {} calls differently: it sent {}{} bytes", what_runs(), arrival.peer,
                                         arrival.in_parts ? "at least " : "", arrival.bytes);
    if (expected == plan_.units.end()) return fail(Status::incompatible, "{}, which this rank does not receive", came);
    const std::size_t bytes = worker_.raw_bytes(elements(*expected));
    const bool raw = expected->raw || expected->cells == 0;
    if (raw && (arrival.in_parts ? bytes < arrival.bytes : bytes != arrival.bytes))
      return fail(Status::incompatible, "{} where this rank expects {}", came, bytes);
    return fail(
        Status::incompatible,
        "{}, and differs in collective, count, type, operation, root, bound or schedule (check = 1 tells which)", came);
  } catch (const std::bad_alloc&) {
    return fail(Status::incompatible, "rank {} calls differently", arrival.peer);
  }
}

}  // namespace stretto::engine
