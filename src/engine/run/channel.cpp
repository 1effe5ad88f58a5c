#include "engine/run/channel.hpp"

#include <algorithm>
#include <bit>

#include "base/guarded.hpp"

namespace stretto::engine {
namespace {

// Injective in `value`; engine::mix() spreads it over all bits.
constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) noexcept {
  return std::rotl((hash ^ value) * 0x9E3779B97F4A7C15u, 29);
}

}  // namespace

std::uint32_t most_messages(const carrier::Carrier& carrier) noexcept { return Tags(carrier.tags()).most_messages(); }

Status Channel::begin(carrier::Carrier& carrier, std::uint32_t slot, std::uint64_t sequence,
                      std::size_t segment_bytes) noexcept {
  carrier_ = &carrier;
  slot_ = slot;
  sequence_ = sequence;
  tags_ = Tags(carrier.tags());
  signature_ = signature();
  const std::uint32_t most = tags_.most_messages();
  if (plan_.most_messages <= most) return Status::ok;
  const Plan::Pair pair = plan_.busiest();
  const std::int32_t own = values_.schedule().rank;
  return fail(Status::invalid_argument,
              "rank {} sends rank {} {} bytes in {} messages, with segments of {} bytes; {} has tags for {} messages",
              pair.sends ? own : pair.peer, pair.sends ? pair.peer : own, values_.worker().raw_bytes(pair.elements),
              plan_.most_messages, segment_bytes, carrier.name(), most);
}

// Covers arguments that are equal on all ranks. Moved raw values count as bytes. In an alltoall a rank knows only its
// own counts.
std::uint64_t Channel::signature() const noexcept {
  const schedule::Schedule& s = values_.schedule();
  const payload::Spec& spec = values_.spec();
  const auto word = [](auto high, auto low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  std::uint64_t hash = sequence_;  // std::hash differs between processes
  for (const char c : s.algorithm) hash = fold(hash, static_cast<unsigned char>(c));
  hash = fold(hash, word(s.collective, s.root));
  if (s.collective != schedule::Collective::alltoall) hash = fold(hash, values_.total_bytes());
  const bool streams = spec.kind != payload::Kind::raw;
  if (!values_.reduces() && !streams) return hash;
  hash = fold(hash, word(static_cast<unsigned>(spec.kind) << 16 | static_cast<unsigned>(spec.type) << 8 |
                             (values_.reduces() ? static_cast<unsigned>(spec.op) : 0),
                         values_.contributions()));
  if (!streams) return hash;
  hash = fold(hash, std::bit_cast<std::uint64_t>(spec.eps));
  for (const Part& part : values_.parts()) hash = fold(fold(hash, part.count), std::bit_cast<std::uint64_t>(part.eps));
  return hash;
}

std::uint64_t Channel::tag(const Unit& unit) const noexcept {
  return tags_.tag(sequence_, unit.message, mix(signature_, values_.raw_bytes(unit)));
}

Status Channel::send(std::uint32_t u, const void* data, std::size_t bytes, std::uint32_t bits) noexcept {
  const Unit& unit = plan_.units[u];
  return carrier_->start_send(unit.peer, tag(unit), data, bytes, id(u, bits));
}

Status Channel::receive(std::uint32_t u, void* data, std::size_t bytes) noexcept {
  const Unit& unit = plan_.units[u];
  return carrier_->start_recv(unit.peer, tag(unit), data, bytes, id(u));
}

Status Channel::compare_calls(std::int32_t peer, const Failure& failure) noexcept {
  carrier::Arrival arrival;
  if (!carrier_->peek(peer, &arrival) || !tags_.may_be_of(sequence_, arrival.tag)) return Status::ok;
  const std::uint32_t number = tags_.number(arrival.tag);
  const auto expected = std::find_if(plan_.units.begin(), plan_.units.end(), [&](const Unit& unit) {
    return receives(unit.task) && unit.peer == arrival.peer && unit.message == number;
  });
  if (expected != plan_.units.end() && tag(*expected) == arrival.tag) return Status::ok;
  if (expected == plan_.units.end() && number == Tags::kWordNumber) return Status::ok;  // words of a run a lap later
  const std::string came = value_or(std::string(), [&] {
    return fmt::format("{}: rank {} calls differently: it sent {}{} bytes", failure.what_runs(), arrival.peer,
                       arrival.in_parts ? "at least " : "", arrival.bytes);
  });
  if (came.empty()) return fail(Status::incompatible, "rank {} calls differently", arrival.peer);  // no memory
  if (expected == plan_.units.end()) return fail(Status::incompatible, "{}, which this rank does not receive", came);
  const std::size_t bytes = values_.raw_bytes(*expected);
  const bool raw = expected->raw || expected->cells == 0;
  if (raw && (arrival.in_parts ? bytes < arrival.bytes : bytes != arrival.bytes))
    return fail(Status::incompatible, "{} where this rank expects {}", came, bytes);
  return fail(Status::incompatible,
              "{}, and differs in collective, count, type, operation, root, bound or schedule (check = 1 tells which)",
              came);
}

}  // namespace stretto::engine
