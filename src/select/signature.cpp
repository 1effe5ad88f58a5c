#include "select/signature.hpp"

#include <bit>
#include <vector>

#include "base/float_environment.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "select/choice/choices.hpp"
#include "select/error_bound.hpp"

namespace stretto::select {

using namespace call;

namespace {

// FNV-1a, to compare the ranks' arrays.
std::uint64_t checksum(const std::vector<std::size_t>& v) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (std::size_t x : v)
    for (int i = 0; i < 8; ++i) h = (h ^ ((std::uint64_t{x} >> (8 * i)) & 0xff)) * 0x100000001b3u;
  return h;
}

// Counts and bounds of parts; 0: none.
std::uint64_t checksum(const std::vector<stretto_part>& parts) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const stretto_part& p : parts)
    for (const std::uint64_t x : {std::uint64_t{p.count}, std::bit_cast<std::uint64_t>(p.bound)})
      for (int i = 0; i < 8; ++i) h = (h ^ ((x >> (8 * i)) & 0xff)) * 0x100000001b3u;
  return parts.empty() ? 0 : h;
}

}  // namespace

Signature signature_of(const Call& c, const Needs& needs, Status own, int rank, int ranks) noexcept {
  const FloatEnvironment environment;
  const stretto_options& o = c.settings.options;
  Signature s;
  for (int f = 0; f < kFields; ++f) s.set(static_cast<Field>(f), std::uint64_t{0}, rank);
  s.set(Field::collective, static_cast<std::uint64_t>(c.collective) | (c.nonblocking ? kNonblockingForm : 0), rank);
  s.contributions = c.collective == Collective::allreduce_multi ? c.inputs.size() : 1;
  s.devices = c.device != nullptr ? 1 : 0;
  s.captured = c.captured ? 1 : 0;
  if (own == Status::ok && needs.range) own = input_values(c, rank, ranks, &s.values);
  if (own == Status::ok && needs.sample) {
    double eps = 0;
    const auto terms = Terms{payload::Kind::fused, static_cast<std::uint64_t>(ranks), ranks};
    const AgreedValues own_values{s.values, 1, {}};
    if (eps_of(c, terms, own_values, absolute_bound(c, own_values), &eps) == Status::ok)
      s.add_sample(eps > 0 || !is_floating(c.type) ? sampled_ratios(c, rank, ranks, eps) : kBestRatios);
  }
  if (own != Status::ok) s.set_failure(own, message(), rank);
  if (!c.settings.schedule.empty())
    s.set(Field::schedule, static_cast<std::uint64_t>(schedule_index(c.settings.schedule.c_str())), rank);
  if (c.collective == Collective::barrier) return s;
  const auto unsigned_value = [](auto e) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(e)); };
  s.set(Field::type, unsigned_value(c.type), rank);
  if (reduces(c.collective)) {
    s.set(Field::op, unsigned_value(c.op), rank);
    if (c.op == STRETTO_USER) s.set(Field::commutes, std::uint64_t{o.user_commutes != 0}, rank);
  }
  if (counts_by_pair(c.collective)) {
    if (own == Status::ok) s.add_pairs(c.send_counts, c.counts, rank);
  } else if (!counts_at_root(c.collective)) {
    if (c.counts_given)
      s.set(Field::counts, checksum(c.counts), rank);
    else
      s.set(Field::count, std::uint64_t{c.count}, rank);
  }
  if (!c.settings.parts.empty()) s.set(Field::counts, checksum(c.settings.parts), rank);
  if (rooted(c.collective)) s.set(Field::root, unsigned_value(c.root), rank);
  s.set(Field::bound_kind, unsigned_value(o.bound_kind), rank);
  if (o.bound_kind != STRETTO_BOUND_NONE) {
    s.set(Field::bound, o.bound, rank);
    s.set(Field::scope, unsigned_value(o.scope), rank);
    if (o.bound_kind == STRETTO_BOUND_RELATIVE) s.set(Field::ignore_above, ignore_above(o), rank);
  }
  s.set(Field::payload, unsigned_value(o.payload), rank);
  s.set(Field::segment, std::uint64_t{o.segment}, rank);
  s.set(Field::raw_below, std::uint64_t{o.raw_below}, rank);
  s.set(Field::reproducible, std::uint64_t{o.reproducible != 0}, rank);
  s.set(Field::coding, unsigned_value(o.coding), rank);
  return s;
}

}  // namespace stretto::select
