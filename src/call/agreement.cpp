#include "call/agreement.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"
#include "call/call.hpp"
#include "call/enums.hpp"
#include "call/schedule_names.hpp"

namespace stretto::call {

namespace {

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

const char* field_name(Field f) noexcept {
  switch (f) {
    case Field::unchecked: return "number of unchecked calls before this one";
    case Field::collective: return "collective";
    case Field::type: return "type";
    case Field::op: return "operation";
    case Field::commutes: return "user_commutes";
    case Field::count: return "count";
    case Field::counts: return "counts (by checksum)";
    case Field::root: return "root";
    case Field::bound_kind: return "bound_kind";
    case Field::bound: return "bound";
    case Field::scope: return "scope";
    case Field::ignore_above: return "ignore_above";
    case Field::schedule: return "schedule";
    case Field::payload: return "payload";
    case Field::segment: return "segment";
    case Field::raw_below: return "raw_below";
    case Field::reproducible: return "reproducible";
    case Field::coding: return "coding";
  }
  return "?";
}

std::string field_value(Field f, std::uint64_t v) {
  const auto i = static_cast<int>(v);
  switch (f) {
    case Field::collective:
      return fmt::format("{}{}", v & kNonblockingForm ? "i" : "",
                         schedule::name(static_cast<Collective>(v & ~kNonblockingForm)));
    case Field::type: return type_name(static_cast<stretto_type>(i));
    case Field::op: return op_name(static_cast<stretto_op>(i));
    case Field::unchecked:
    case Field::commutes:
    case Field::count:
    case Field::root:
    case Field::segment:
    case Field::raw_below:
    case Field::reproducible: return fmt::format("{}", v);
    case Field::counts: return fmt::format("{:08x}", v);
    case Field::bound_kind: return bound_name(static_cast<stretto_bound>(i));
    case Field::bound:
    case Field::ignore_above: return fmt::format("{}", from_ordered(v));
    case Field::scope: return scope_name(static_cast<stretto_scope>(i));
    case Field::schedule: return schedule_name(i);
    case Field::payload: return payload_name(static_cast<stretto_payload>(i));
    case Field::coding: return coding_name(static_cast<stretto_coding>(i));
  }
  return "?";
}

// Values and scopes are void; bound_kind reports the rank.
bool bound_missing(const Signature& merged) noexcept {
  return merged.span[static_cast<std::size_t>(Field::bound_kind)].lo == STRETTO_BOUND_NONE;
}
bool only_with_bound(Field f) noexcept { return f == Field::bound || f == Field::scope; }

// bound_kind reports differing kinds; only a relative one has this field.
bool follows_from_kind(Field f, const Signature& merged) noexcept {
  const Span& kind = merged.span[static_cast<std::size_t>(Field::bound_kind)];
  return f == Field::ignore_above && kind.lo != kind.hi;
}

Status differences(const Signature& merged) {
  std::string text;
  for (int i = 0; i < kFields; ++i) {
    const Span& s = merged.span[i];
    if (s.lo == s.hi) continue;
    const auto f = static_cast<Field>(i);
    if (only_with_bound(f) && bound_missing(merged)) continue;
    if (follows_from_kind(f, merged)) continue;
    text += fmt::format("{}{} differs: {} on rank {}, {} on rank {}", text.empty() ? "" : "; ", field_name(f),
                        field_value(f, s.lo), s.lo_rank, field_value(f, s.hi), s.hi_rank);
    if (f == Field::unchecked) text += " (options.check must be equal on all ranks)";
    if (f == Field::unchecked || f == Field::collective) break;  // the rest means different things then
  }
  return text.empty() ? Status::ok : fail(Status::incompatible, text);
}

// splitmix64
std::uint64_t weight(int from, int to) noexcept {
  std::uint64_t x =
      (std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to)) + 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (x ^ (x >> 31)) | 1;
}

Status differ(const Signature& merged, const std::vector<std::size_t>& sends, const std::vector<std::size_t>& expects,
              int rank) {
  const auto more = static_cast<std::int64_t>(merged.surplus);
  const int ranks = static_cast<int>(sends.size());
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (more == 0 || weight(from, to) * merged.surplus != merged.balance) continue;
      const std::string pair = fmt::format("counts differ: rank {} sends rank {} ", from, to);
      if (rank != from && rank != to)
        return fail(Status::incompatible, "{}{} element{} {} than it expects", pair, more > 0 ? more : -more,
                    more == 1 || more == -1 ? "" : "s", more > 0 ? "more" : "fewer");
      const std::uint64_t sent =
          rank == from ? sends[static_cast<std::size_t>(to)] : expects[static_cast<std::size_t>(from)] + merged.surplus;
      return fail(Status::incompatible, "{}{} elements, which expects {}", pair, sent, sent - merged.surplus);
    }
  }
  return fail(Status::incompatible,
              "counts differ: sendcounts and recvcounts do not match for more than one pair of ranks ({} elements are "
              "sent beyond those expected)",
              more);
}

// Falls back to `text` where `describe` lacks memory.
template <class Describe>
Status described(std::string_view text, Describe&& describe) noexcept {
  Status s = Status::incompatible;
  if (attempt([&] { s = describe(); })) return s;
  return fail(Status::incompatible, "{} (no memory for the details)", text);
}

}  // namespace

std::uint64_t ordered(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits & kSignBit ? ~bits : bits | kSignBit;
}

double from_ordered(std::uint64_t bits) noexcept {
  return std::bit_cast<double>(bits & kSignBit ? bits & ~kSignBit : ~bits);
}

void Signature::set(Field f, std::uint64_t value, int rank) noexcept {
  const auto r = static_cast<std::uint32_t>(rank);
  span[static_cast<std::size_t>(f)] = {value, value, r, r};
}

void Signature::set(Field f, double value, int rank) noexcept { set(f, ordered(value), rank); }

void Signature::set_failure(Status s, const char* message, int rank) noexcept {
  status = static_cast<std::uint32_t>(s);
  failed_rank = static_cast<std::uint32_t>(rank);
  constexpr std::string_view cut = "...";
  const std::string_view whole = message;
  const bool fits = whole.size() < text.size();
  const std::size_t n = fits ? whole.size() : text.size() - 1 - cut.size();
  text.fill(0);
  std::copy_n(whole.begin(), n, text.begin());
  if (!fits) std::copy(cut.begin(), cut.end(), text.begin() + static_cast<std::ptrdiff_t>(n));
}

void Signature::add_sample(const Shrinks& ratios) noexcept {
  if (!(ratios.fixed > 0) || !(ratios.dense > 0)) return;
  const auto share = [](double ratio) { return static_cast<std::uint64_t>(std::max(1.0, 65536 / ratio)); };
  ++samples;
  shrunk += share(ratios.fixed);
  shrunk_dense += share(ratios.dense);
}

// Odd and pseudorandom, so that differences of pairs do not cancel.
void Signature::add_pairs(const std::vector<std::size_t>& sends, const std::vector<std::size_t>& expects,
                          int rank) noexcept {
  std::uint64_t sent = 0, expected = 0;
  for (std::size_t r = 0; r < sends.size(); ++r) {
    const int peer = static_cast<int>(r);
    balance += weight(rank, peer) * sends[r] - weight(peer, rank) * expects[r];
    sent += sends[r];
    expected += expects[r];
  }
  surplus += sent - expected;
  largest = std::max({largest, sent, expected});
}

Shrinks Signature::ratios() const noexcept {
  const FloatEnvironment environment;
  if (samples == 0) return {};
  const double whole = 65536 * static_cast<double>(samples);
  return {whole / static_cast<double>(shrunk), whole / static_cast<double>(shrunk_dense)};
}

std::uint64_t digest(const Signature& s) noexcept {
  std::uint64_t h = std::uint64_t{s.captured} << 32 | s.devices;
  for (int i = 0; i < kFields; ++i) {
    if (static_cast<Field>(i) == Field::unchecked) continue;
    h = (h ^ s.span[i].lo) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return h | 1;
}

void merge(const Signature& from, Signature& into) noexcept {
  const FloatEnvironment environment;
  for (int i = 0; i < kFields; ++i) {
    const Span& a = from.span[i];
    Span& b = into.span[i];
    // Ties go to the lower rank: order of merging must not matter.
    if (a.lo < b.lo || (a.lo == b.lo && a.lo_rank < b.lo_rank)) b.lo = a.lo, b.lo_rank = a.lo_rank;
    if (a.hi > b.hi || (a.hi == b.hi && a.hi_rank < b.hi_rank)) b.hi = a.hi, b.hi_rank = a.hi_rank;
  }
  if (from.status && (!into.status || from.failed_rank < into.failed_rank)) {
    into.status = from.status;
    into.failed_rank = from.failed_rank;
    into.text = from.text;
  }
  into.values.merge(from.values);
  into.contributions += from.contributions;
  into.balance += from.balance;
  into.surplus += from.surplus;
  into.largest = std::max(into.largest, from.largest);
  into.devices += from.devices;
  into.captured += from.captured;
  into.samples += from.samples;
  into.shrunk += from.shrunk;
  into.shrunk_dense += from.shrunk_dense;
  into.took = into.took > 0 && from.took > 0 ? std::max(into.took, from.took) : 0;
}

Status verdict(const Signature& merged, const Signature& own, const char* message) noexcept {
  if (!merged.status) return described("ranks disagree", [&] { return differences(merged); });
  const auto s = static_cast<Status>(merged.status);
  if (own.status == merged.status && own.text == merged.text)
    return fail(s, std::string_view(*message != 0 ? message : merged.text.data()));
  return fail(s, "rank {}: {}", merged.failed_rank, merged.text.data());
}

bool is_out_of_step(const Signature& merged) noexcept {
  const Span& unchecked = merged.span[static_cast<std::size_t>(Field::unchecked)];
  return unchecked.lo != unchecked.hi;
}

bool is_alike_but_for_the_way(const Signature& merged) noexcept {
  const auto failed = static_cast<Status>(merged.status);
  const auto bounds = merged.span.begin() + static_cast<std::ptrdiff_t>(Field::bound_kind);
  return (failed == Status::ok || failed == Status::invalid_bound || failed == Status::unsupported) &&
         std::all_of(merged.span.begin(), bounds, [](const Span& s) { return s.lo == s.hi; });
}

Status pairs_agree(const Signature& merged, const std::vector<std::size_t>& sends,
                   const std::vector<std::size_t>& expects, int rank) noexcept {
  if (merged.balance == 0) return Status::ok;
  return described("counts differ", [&] { return differ(merged, sends, expects, rank); });
}

}  // namespace stretto::call
