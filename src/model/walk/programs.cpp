#include "model/walk/programs.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "schedule/names.hpp"

namespace stretto::model {
namespace {

using schedule::Kind;
using schedule::Range;
using schedule::Schedule;
using schedule::Step;

bool sends(const Step& s) noexcept { return s.kind == Kind::send; }

// The k-th send to a peer matches the k-th receive there.
class RankMessages {
 public:
  explicit RankMessages(const Schedule& s) {
    all_.reserve(s.steps.size());
    for (std::size_t i = 0; i < s.steps.size(); ++i)
      if (s.steps[i].peer >= 0) all_.push_back(key(s.steps[i].peer, sends(s.steps[i])) | i);
    std::sort(all_.begin(), all_.end());
  }

  template <class Visit>
  void visit(const Visit& visit) const {
    for (std::size_t first = 0; first < all_.size();) {
      const std::uint64_t group = all_[first] & ~kStep;
      std::size_t end = first + 1;
      while (end < all_.size() && (all_[end] & ~kStep) == group) ++end;
      visit(static_cast<std::int32_t>(group >> 33), (group >> 32 & 1) != 0,
            std::span(all_).subspan(first, end - first));
      first = end;
    }
  }
  // Steps to or from a peer, then those of later groups.
  std::span<const std::uint64_t> from(std::int32_t peer, bool send) const {
    return std::span(all_).subspan(
        static_cast<std::size_t>(std::lower_bound(all_.begin(), all_.end(), key(peer, send)) - all_.begin()));
  }
  static std::int32_t step(std::uint64_t entry) noexcept { return static_cast<std::int32_t>(entry & kStep); }
  static bool is_of(std::uint64_t entry, std::int32_t peer, bool send) noexcept {
    return (entry & ~kStep) == key(peer, send);
  }

 private:
  static constexpr std::uint64_t kStep = 0xFFFFFFFF;
  static std::uint64_t key(std::int32_t peer, bool send) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(peer)} << 33 | std::uint64_t{send} << 32;
  }
  std::vector<std::uint64_t> all_;
};

// Slots are runs of blocks that no step divides, equal in all buffers, so a range has equally many slots in each.
class Numbering {
 public:
  explicit Numbering(const Schedule& s) {
    cuts_.reserve(4 * s.steps.size());
    for (const Step& step : s.steps) {
      for (const Range& r : {step.dst, step.src}) {
        if (r.count <= 0) continue;
        cuts_.push_back(r.first);
        cuts_.push_back(r.first + r.count);
      }
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    for (auto& numbers : numbers_) numbers.assign(cuts_.size() + 1, 0);
    for (const Step& step : s.steps) {
      for (const Range& r : {step.dst, step.src}) {
        if (r.count <= 0) continue;
        ++numbers_of(r)[run(r.first)];
        --numbers_of(r)[run(r.first + r.count)];
      }
    }
    for (auto& numbers : numbers_) {
      for (std::int32_t open = 0; std::int32_t & n : numbers) {
        open += n;
        n = slots_;
        slots_ += open > 0 ? 1 : 0;
      }
    }
  }

  std::size_t size() const { return static_cast<std::size_t>(slots_); }
  std::int32_t slot(const Range& r) const { return r.count > 0 ? numbers_of(r)[run(r.first)] : -1; }
  std::int32_t slots_in(const Range& r) const {
    return r.count > 0 ? static_cast<std::int32_t>(run(r.first + r.count) - run(r.first)) : 0;
  }

  std::vector<Slot> slots(const Schedule& s) const {
    std::vector<Slot> all;
    all.reserve(static_cast<std::size_t>(slots_));
    for (std::size_t b = 0; b < std::size(numbers_); ++b) {
      for (std::size_t i = 0; i + 1 < cuts_.size(); ++i) {
        if (numbers_[b][i + 1] == numbers_[b][i]) continue;
        Slot slot{static_cast<schedule::Buffer>(b), cuts_[i], cuts_[i + 1] - cuts_[i]};
        const auto asked = [&](auto& of) { return of(s.collective, s.ranks, s.root, s.rank, slot.block); };
        slot.held = slot.buffer == schedule::Buffer::in && asked(schedule::holds);
        slot.expected = slot.buffer == schedule::Buffer::out && asked(schedule::expects);
        all.push_back(slot);
      }
    }
    return all;
  }

 private:
  std::size_t run(std::int32_t block) const {
    return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), block) - cuts_.begin());
  }
  std::vector<std::int32_t>& numbers_of(const Range& r) { return numbers_[static_cast<std::size_t>(r.buffer)]; }
  const std::vector<std::int32_t>& numbers_of(const Range& r) const {
    return numbers_[static_cast<std::size_t>(r.buffer)];
  }

  std::vector<std::int32_t> cuts_;
  std::vector<std::int32_t> numbers_[3];  // by buffer and run; a missing run has the next slot
  std::int32_t slots_ = 0;
};

Program program_of(const Schedule& s, const Numbering& numbering, const topology::Topology& topology, int period,
                   const std::vector<int>& leaf) {
  Program p;
  p.rank = s.rank;
  p.host = topology.host_of(s.rank);
  p.slots = numbering.slots(s);
  p.acts.reserve(s.steps.size());
  for (const Step& step : s.steps) {
    Act a;
    a.kind = step.kind;
    a.level = step.level;
    a.lane = step.lane;
    if (step.peer >= 0) {
      a.distance = topology.distance(s.rank, step.peer);
      a.peer = step.peer % period;
      a.far = leaf[static_cast<std::size_t>(p.host)] != leaf[static_cast<std::size_t>(topology.host_of(step.peer))];
    }
    const Range& range = step.dst.count > 0 ? step.dst : step.src;
    a.blocks = range.count;
    a.slots = numbering.slots_in(range);
    a.dst = numbering.slot(step.dst);
    a.src = numbering.slot(step.src);
    if (a.dst >= 0) {
      for (std::int32_t i = 0; i < a.slots; ++i)
        p.slots[static_cast<std::size_t>(a.dst + i)].last_write = static_cast<std::int32_t>(p.acts.size());
    }
    p.acts.push_back(a);
  }
  return p;
}

struct Walked {
  std::vector<Schedule> schedules;
  std::vector<Numbering> numberings;
};

Status build(const schedule::Algorithm& algorithm, schedule::Request request, int period, double most, Walked* walked) {
  double cells = 0;
  for (request.rank = 0; request.rank < period; ++request.rank) {
    walked->schedules.push_back(algorithm.build(request));
    walked->numberings.emplace_back(walked->schedules.back());
    cells += static_cast<double>(walked->schedules.back().steps.size() + walked->numberings.back().size());
    const double expected = cells / (request.rank + 1) * period;
    if (cells <= most && (request.rank < 16 || expected <= 2 * most)) continue;
    return fail(Status::unsupported,
                "{} {} of {} ranks: {} of them to walk, about {:.1f} million steps and slots, and at most {:.1f} "
                "million are walked",
                schedule::name(algorithm.collective), algorithm.name, request.ranks, period, expected / 1e6,
                most / 1e6);
  }
  return Status::ok;
}

// A message's counterpart is in the peer's own schedule, and at that place in the representing program.
Status match(const schedule::Algorithm& algorithm, const schedule::Request& request, const Walked& walked,
             std::vector<Program>* programs) {
  const auto period = static_cast<std::int32_t>(walked.schedules.size());
  std::unordered_map<std::int32_t, RankMessages> messages;  // with stable element addresses
  const auto messages_of = [&](std::int32_t rank) -> const RankMessages& {
    const auto found = messages.find(rank);
    if (found != messages.end()) return found->second;
    if (rank < period)
      return messages.emplace(rank, RankMessages(walked.schedules[static_cast<std::size_t>(rank)])).first->second;
    schedule::Request peer = request;
    peer.rank = rank;
    return messages.emplace(rank, RankMessages(algorithm.build(peer))).first->second;
  };
  std::int32_t lonely = -1, lonely_step = -1;
  for (std::int32_t r = 0; r < period && lonely < 0; ++r) {
    Program& p = (*programs)[static_cast<std::size_t>(r)];
    messages_of(r).visit([&](std::int32_t peer, bool send, std::span<const std::uint64_t> own) {
      const auto theirs = messages_of(peer).from(r, !send);
      for (std::size_t k = 0; k < own.size(); ++k) {
        Act& a = p.acts[static_cast<std::size_t>(RankMessages::step(own[k]))];
        const auto& there = (*programs)[static_cast<std::size_t>(a.peer)].acts;
        a.partner = k < theirs.size() && RankMessages::is_of(theirs[k], r, !send) ? RankMessages::step(theirs[k]) : -1;
        if (a.partner >= 0 && static_cast<std::size_t>(a.partner) < there.size() &&
            there[static_cast<std::size_t>(a.partner)].level == a.level &&
            there[static_cast<std::size_t>(a.partner)].blocks == a.blocks)
          continue;
        lonely = r;
        lonely_step = RankMessages::step(own[k]);
        return;
      }
    });
  }
  if (lonely < 0) return Status::ok;
  const Schedule& s = walked.schedules[static_cast<std::size_t>(lonely)];
  return fail(Status::internal, "{} {} of {} ranks: step {} of rank {} meets nothing at rank {}",
              schedule::name(algorithm.collective), algorithm.name, request.ranks, lonely_step, lonely,
              s.steps[static_cast<std::size_t>(lonely_step)].peer);
}

}  // namespace

std::pair<std::int32_t, std::int32_t> lengths_of(const Programs& programs) noexcept {
  std::pair<std::int32_t, std::int32_t> found{0, 0};
  for (const Program& p : programs.all) {
    for (const Act& a : p.acts) {
      if (a.peer < 0 || a.blocks == 0) continue;
      found.first = found.first == 0 ? a.blocks : std::min(found.first, a.blocks);
      found.second = std::max(found.second, a.blocks);
    }
  }
  return found;
}

Status make_programs(const schedule::Algorithm& algorithm, schedule::Request request,
                     const topology::Topology& topology, const Folding& folding, Programs* programs) {
  if (request.ranks != topology.ranks())
    return fail(Status::invalid_argument, "{} ranks on a topology of {}", request.ranks, topology.ranks());
  if (const Status s = schedule::check_ranks(algorithm.collective, request.ranks); s != Status::ok) return s;
  schedule::Groups groups;
  if (request.groups == nullptr && (algorithm.uses_groups || algorithm.uses_torus)) {
    groups = groups_of(topology);
    request.groups = &groups;
  }
  const int period =
      folding.allowed ? fold_period(algorithm, request, topology, folding.hosts_per_leaf) : request.ranks;

  Walked walked;
  if (const Status s = build(algorithm, request, period, static_cast<double>(folding.most), &walked); s != Status::ok)
    return s;

  Programs& out = *programs;
  out = {};
  out.collective = algorithm.collective;
  out.ranks = request.ranks;
  out.blocks = walked.schedules[0].blocks;
  out.root = walked.schedules[0].root;
  out.period = period;
  out.torus = topology.torus();
  out.hosts = topology.host_of(period - 1) + 1;
  if (period == request.ranks) out.hosts = topology.hosts();
  const int per_leaf = folding.hosts_per_leaf > 0 ? folding.hosts_per_leaf : topology.hosts();
  std::vector<int> leaf(static_cast<std::size_t>(topology.hosts()));
  for (std::size_t h = 0; h < leaf.size(); ++h) leaf[h] = static_cast<int>(h) / per_leaf;
  out.leaf.assign(leaf.begin(), leaf.begin() + out.hosts);
  out.leaves = out.leaf.back() + 1;
  out.all.reserve(walked.schedules.size());
  for (std::size_t r = 0; r < walked.schedules.size(); ++r) {
    out.all.push_back(program_of(walked.schedules[r], walked.numberings[r], topology, period, leaf));
    Program& p = out.all.back();
    const auto on_host = static_cast<double>(topology.ranks_of(p.host).size());
    if (folding.cores > 0) p.share = std::max(1.0, on_host / (folding.cores * topology.core_part()));
  }

  const Status matched = match(algorithm, request, walked, &out.all);
  if (matched != Status::ok) out = {};
  return matched;
}

}  // namespace stretto::model
