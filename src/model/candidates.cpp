#include "model/candidates.hpp"

#include <algorithm>
#include <initializer_list>

#include "schedule/names.hpp"

namespace stretto::model {
namespace {

using payload::Kind;

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kSegments[] = {64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB};
constexpr std::uint64_t kPieces[] = {64 * kKiB, 256 * kKiB, kMiB};
constexpr int kMostPieces = 64;

bool is_forced(const Question& q, Kind k) noexcept { return q.payload == static_cast<int>(k); }

std::vector<Kind> payloads_for(const Question& q) {
  std::vector<Kind> kinds;
  const auto may = [&](Kind k) { return q.payload < 0 || is_forced(q, k); };
  if (!q.code_space && may(Kind::raw)) kinds.push_back(Kind::raw);
  if (!q.compress || schedule::is_prefix(q.collective)) return kinds;
  if (!schedule::reduces(q.collective)) {
    if (q.payload < 0)
      kinds.push_back(Kind::fused);
    else if (!is_forced(q, Kind::raw))
      kinds.push_back(static_cast<Kind>(q.payload));
    return kinds;
  }
  for (const Kind k : {Kind::fused, Kind::homomorphic})
    if (may(k)) kinds.push_back(k);
  // Payloads that round at every step serve only on request.
  if (const auto forced = static_cast<Kind>(q.payload);
      q.payload >= 0 && !q.code_space && payload::is_compressed(forced) && !payload::traits(forced).adds_codes)
    kinds.push_back(forced);
  return kinds;
}

// Where devices reach each other's memory, a cut costs a message and hides nothing.
std::vector<std::uint64_t> segments_for(const Question& q, double block) {
  if (q.segment > 0) return {q.segment};
  if (q.reaching > 0) return {0};
  std::vector<std::uint64_t> all{0};
  for (const std::uint64_t s : kSegments)
    if (static_cast<double>(s) < block) all.push_back(s);
  return all;
}

std::vector<int> blocks_for(const Question& q, int ranks) {
  std::vector<int> all;
  for (const std::uint64_t piece : kPieces) {
    const auto n = static_cast<int>(std::clamp<std::uint64_t>(q.bytes / piece, 1, kMostPieces));
    if (ranks > 1 && std::find(all.begin(), all.end(), n) == all.end()) all.push_back(n);
  }
  if (all.empty()) all.push_back(1);
  return all;
}

bool only_rank_by_rank(const schedule::Algorithm& a) noexcept {
  using enum schedule::Collective;
  return a.rank_by_rank && (a.collective == reduce || a.collective == reduce_scatter);
}

}  // namespace

std::string no_schedule(schedule::Collective collective, std::string_view name) {
  std::string offered;
  for (const schedule::Algorithm& a : schedule::algorithms())
    if (a.collective == collective) offered += (offered.empty() ? "" : ", ") + std::string(a.name);
  return fmt::format("{} has no schedule '{}'; it has {}", schedule::name(collective), name, offered);
}

bool own_may_serve(const Question& q) noexcept {
  return !q.code_space && q.schedule.empty() && q.segment == 0 && q.raw_below == 0 &&
         (q.payload < 0 || is_forced(q, Kind::raw));
}

bool node_may_stream(const Question& q) noexcept {
  const bool kind = q.payload < 0 || payload::traits(static_cast<Kind>(q.payload)).adds_codes;
  return q.node_streams && q.compress && kind && !q.keeps_order && q.schedule.empty() && q.segment == 0 &&
         q.raw_below == 0;
}

bool may_carry(const schedule::Algorithm& a, const Question& q, Kind kind) noexcept {
  if (!a.ranks_differ) return true;
  return payload::is_compressed(kind) ? payload::traits(kind).adds_codes : q.exact;
}

std::vector<Option> options_for(const Question& q, const topology::Topology& topology, std::string* why) {
  std::vector<Option> all;
  const int p = topology.ranks();
  const std::vector<Kind> kinds = payloads_for(q);
  if (kinds.empty()) {
    *why =
        fmt::format("payload {} does not fit: {}", q.payload < 0 ? "raw" : payload::name(static_cast<Kind>(q.payload)),
                    q.code_space                        ? "contributions are to be summed in code space"
                    : schedule::is_prefix(q.collective) ? "prefix sums have no streams"
                                                        : "there is no bound");
    return all;
  }
  const bool floors = topology.hosts() > 1 && topology.hosts() < p;
  bool known = q.schedule.empty();
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    if (a.collective != q.collective || (!q.schedule.empty() && a.name != q.schedule)) continue;
    known = true;
    if (q.keeps_order && !a.keeps_order) continue;
    if (q.rank_by_rank && !a.rank_by_rank) continue;
    if (only_rank_by_rank(a) && !q.rank_by_rank && q.schedule.empty()) continue;
    if (a.uses_torus && topology.torus().empty() && q.schedule.empty()) continue;
    if (a.uses_groups && !floors && !topology.nested() && q.schedule.empty()) continue;
    const std::vector<int> blocks = a.uses_blocks ? blocks_for(q, p) : std::vector<int>{0};
    const std::vector<int> radices = a.uses_radix ? std::vector<int>{4, 8} : std::vector<int>{0};
    for (const int b : blocks) {
      for (const int k : radices) {
        if (k > 4 && p <= 4) continue;
        Option option{&a, b, k, {}};
        const double block = static_cast<double>(q.bytes) / std::max(b, 1);
        for (const Kind kind : kinds) {
          if (!may_carry(a, q, kind)) continue;
          for (const std::uint64_t segment : segments_for(q, block)) {
            Candidate c;
            c.schedule = a.name;
            c.payload = kind;
            c.segment = segment;
            c.blocks = b;
            c.radix = k;
            option.ways.push_back(c);
            // All but the root get equal bytes: streams everywhere.
            const bool moves_one = q.collective == schedule::Collective::bcast;
            if (!a.uses_groups || !floors || kind == Kind::raw || q.code_space || moves_one) continue;
            c.raw_inside = true;
            option.ways.push_back(c);
          }
        }
        if (!option.ways.empty()) all.push_back(std::move(option));
      }
    }
  }
  if (!known)
    *why = no_schedule(q.collective, q.schedule);
  else if (all.empty())
    *why = fmt::format("{} has no schedule{} that combines the operands in an order that fits",
                       schedule::name(q.collective), q.schedule.empty() ? "" : " '" + q.schedule + "'");
  return all;
}

}  // namespace stretto::model
