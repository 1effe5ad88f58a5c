#include "model/programs.hpp"

#include <algorithm>
#include <map>

#include "schedule/names.hpp"

namespace stretto::model {
namespace {

using schedule::Kind;
using schedule::Range;
using schedule::Schedule;
using schedule::Step;

bool sends(const Step& s) noexcept { return s.kind == Kind::send; }

// Messages of a schedule, to find the k-th from or to a peer.
class Messages {
 public:
  explicit Messages(const Schedule& s) {
    for (std::size_t i = 0; i < s.steps.size(); ++i)
      if (s.steps[i].peer >= 0) all_.push_back({s.steps[i].peer, sends(s.steps[i]), static_cast<std::int32_t>(i)});
    std::sort(all_.begin(), all_.end(), less);
  }

  // How many of its kind come before step i.
  std::size_t order(const Schedule& s, std::size_t i) const {
    const Entry e{s.steps[i].peer, sends(s.steps[i]), static_cast<std::int32_t>(i)};
    return static_cast<std::size_t>(std::lower_bound(all_.begin(), all_.end(), e, less) - first(e.peer, e.send));
  }
  // The k-th to or from a peer; -1: there is none.
  std::int32_t find(std::int32_t peer, bool send, std::size_t k) const {
    const auto begin = first(peer, send);
    if (static_cast<std::size_t>(all_.end() - begin) <= k) return -1;
    const Entry& e = *(begin + static_cast<std::ptrdiff_t>(k));
    return e.peer == peer && e.send == send ? e.step : -1;
  }

 private:
  struct Entry {
    std::int32_t peer;
    bool send;
    std::int32_t step;
  };
  static bool less(const Entry& a, const Entry& b) {
    if (a.peer != b.peer) return a.peer < b.peer;
    return a.send != b.send ? a.send < b.send : a.step < b.step;
  }
  std::vector<Entry>::const_iterator first(std::int32_t peer, bool send) const {
    return std::lower_bound(all_.begin(), all_.end(), Entry{peer, send, -1}, less);
  }
  std::vector<Entry> all_;
};

// Numbers the blocks that are touched, buffer by buffer, so that those of a range stay neighbours.
class Numbering {
 public:
  explicit Numbering(const Schedule& s) {
    std::vector<Range> ranges;
    for (const Step& step : s.steps) {
      if (step.dst.count > 0) ranges.push_back(step.dst);
      if (step.src.count > 0) ranges.push_back(step.src);
    }
    const auto key = [](const Range& r) { return std::pair(r.buffer, r.first); };
    std::sort(ranges.begin(), ranges.end(), [&](const Range& a, const Range& b) { return key(a) < key(b); });
    for (const Range& r : ranges) {
      if (!runs_.empty() && runs_.back().range.buffer == r.buffer &&
          r.first <= runs_.back().range.first + runs_.back().range.count) {
        Range& run = runs_.back().range;
        const std::int32_t end = std::max(run.first + run.count, r.first + r.count);
        slots_ += end - (run.first + run.count);
        run.count = end - run.first;
      } else {
        runs_.push_back({r, slots_});
        slots_ += r.count;
      }
    }
  }

  std::int32_t slot(const Range& r) const {
    if (r.count <= 0) return -1;
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), r, [](const Range& a, const Run& b) {
      return std::pair(a.buffer, a.first) < std::pair(b.range.buffer, b.range.first);
    });
    const Run& run = *(after - 1);
    return run.slot + (r.first - run.range.first);
  }

  std::vector<Slot> slots(const Schedule& s) const {
    std::vector<Slot> all;
    all.reserve(static_cast<std::size_t>(slots_));
    for (const Run& run : runs_) {
      for (std::int32_t b = run.range.first; b < run.range.first + run.range.count; ++b) {
        Slot slot{run.range.buffer, b};
        slot.held = slot.buffer == schedule::Buffer::in && schedule::holds(s.collective, s.ranks, s.root, s.rank, b);
        slot.expected =
            slot.buffer == schedule::Buffer::out && schedule::expects(s.collective, s.ranks, s.root, s.rank, b);
        all.push_back(slot);
      }
    }
    return all;
  }

 private:
  struct Run {
    Range range;
    std::int32_t slot;
  };
  std::vector<Run> runs_;
  std::int32_t slots_ = 0;
};

Program program_of(const Schedule& s, const topology::Topology& topology, int period, const std::vector<int>& leaf) {
  Program p;
  p.rank = s.rank;
  p.host = topology.host_of(s.rank);
  const Numbering numbering(s);
  p.slots = numbering.slots(s);
  p.acts.reserve(s.steps.size());
  for (const Step& step : s.steps) {
    Act a;
    a.kind = step.kind;
    a.level = step.level;
    if (step.peer >= 0) {
      a.distance = topology.distance(s.rank, step.peer);
      a.peer = step.peer % period;
      a.far = leaf[static_cast<std::size_t>(p.host)] != leaf[static_cast<std::size_t>(topology.host_of(step.peer))];
    }
    a.blocks = std::max(step.dst.count, step.src.count);
    a.dst = numbering.slot(step.dst);
    a.src = numbering.slot(step.src);
    if (a.dst >= 0) {
      for (std::int32_t i = 0; i < step.dst.count; ++i)
        p.slots[static_cast<std::size_t>(a.dst + i)].last_write = static_cast<std::int32_t>(p.acts.size());
    }
    p.acts.push_back(a);
  }
  return p;
}

}  // namespace

Status make_programs(const schedule::Algorithm& algorithm, schedule::Request request,
                     const topology::Topology& topology, const Folding& folding, Programs* programs) {
  if (request.ranks != topology.ranks())
    return fail(Status::invalid_argument, "{} ranks on a topology of {}", request.ranks, topology.ranks());
  schedule::Groups groups;
  if (request.groups == nullptr) {
    groups = groups_of(topology);
    request.groups = &groups;
  }
  const int period =
      folding.allowed ? fold_period(algorithm, request, topology, folding.hosts_per_leaf) : request.ranks;

  std::vector<Schedule> walked;
  std::size_t steps = 0;
  for (request.rank = 0; request.rank < period; ++request.rank) {
    walked.push_back(algorithm.build(request));
    steps += walked.back().steps.size();
    const double expected = static_cast<double>(steps) / (request.rank + 1) * period;
    if (steps > folding.most || (request.rank >= 16 && expected > 4.0 * static_cast<double>(folding.most))) {
      return fail(Status::unsupported, "{} {} of {} ranks has more than {} steps to walk, and nothing to fold",
                  schedule::name(algorithm.collective), algorithm.name, request.ranks, folding.most);
    }
  }

  Programs& out = *programs;
  out = {};
  out.collective = algorithm.collective;
  out.ranks = request.ranks;
  out.blocks = walked[0].blocks;
  out.root = walked[0].root;
  out.period = period;
  out.hosts = topology.host_of(period - 1) + 1;
  if (period == request.ranks) out.hosts = topology.hosts();
  const int per_leaf = folding.hosts_per_leaf > 0 ? folding.hosts_per_leaf : topology.hosts();
  std::vector<int> leaf(static_cast<std::size_t>(topology.hosts()));
  for (std::size_t h = 0; h < leaf.size(); ++h) leaf[h] = static_cast<int>(h) / per_leaf;
  out.leaf.assign(leaf.begin(), leaf.begin() + out.hosts);
  out.leaves = out.leaf.back() + 1;
  for (const Schedule& s : walked) {
    out.all.push_back(program_of(s, topology, period, leaf));
    Program& p = out.all.back();
    const auto on_host = static_cast<double>(topology.ranks_of(p.host).size());
    if (folding.cores > 0) p.share = std::max(1.0, on_host / folding.cores);
  }

  // A message meets its counterpart in the peer's own schedule; the program that stands for the peer has it in the same place.
  std::map<std::int32_t, Messages> messages;
  const auto messages_of = [&](std::int32_t rank) -> const Messages& {
    const auto found = messages.find(rank);
    if (found != messages.end()) return found->second;
    if (rank < period) return messages.emplace(rank, Messages(walked[static_cast<std::size_t>(rank)])).first->second;
    schedule::Request peer = request;
    peer.rank = rank;
    return messages.emplace(rank, Messages(algorithm.build(peer))).first->second;
  };
  for (std::int32_t r = 0; r < period; ++r) {
    const Schedule& s = walked[static_cast<std::size_t>(r)];
    Program& p = out.all[static_cast<std::size_t>(r)];
    const Messages& own = messages_of(r);
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Step& step = s.steps[i];
      if (step.peer < 0) continue;
      Act& a = p.acts[i];
      a.partner = messages_of(step.peer).find(r, !sends(step), own.order(s, i));
      const auto& there = out.all[static_cast<std::size_t>(a.peer)].acts;
      if (a.partner < 0 || static_cast<std::size_t>(a.partner) >= there.size() ||
          there[static_cast<std::size_t>(a.partner)].level != a.level ||
          there[static_cast<std::size_t>(a.partner)].blocks != a.blocks) {
        out = {};
        return fail(Status::internal, "{} {} of {} ranks: step {} of rank {} meets nothing at rank {}",
                    schedule::name(algorithm.collective), algorithm.name, request.ranks, i, r, step.peer);
      }
    }
  }
  return Status::ok;
}

}  // namespace stretto::model
