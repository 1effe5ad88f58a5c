#include "schedule/check/replay.hpp"

#include <algorithm>
#include <tuple>

#include "schedule/check/printer.hpp"
#include "schedule/names.hpp"

namespace stretto::schedule {
namespace {

bool receives(const Step& s) { return s.kind == Kind::recv_replace || s.kind == Kind::recv_combine; }

struct Message {
  std::int32_t from;
  std::int32_t to;
  std::int32_t step;
  friend bool operator<(const Message& a, const Message& b) {
    return std::tie(a.from, a.to, a.step) < std::tie(b.from, b.to, b.step);
  }
};

}  // namespace

std::string describe(std::span<const Schedule> all, Place place) {
  const Schedule& s = all[static_cast<std::size_t>(place.rank)];
  return fmt::format("{} {} of {} ranks: rank {}, step {} ({})", name(s.collective), s.algorithm, s.ranks, place.rank,
                     place.step, text(s.steps[static_cast<std::size_t>(place.step)]));
}

Replay::Replay(std::span<const Schedule> all) : all_(all), partner_(all.size()) {
  dependencies_.reserve(all.size());
  for (const Schedule& s : all) dependencies_.emplace_back(s);
}

const Step& Replay::at(Place place) const {
  return all_[static_cast<std::size_t>(place.rank)].steps[static_cast<std::size_t>(place.step)];
}

Place Replay::partner(Place place) const {
  return {at(place).peer, partner_[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.step)]};
}

Status Replay::match() {
  std::vector<Message> sends;
  std::vector<Message> receipts;
  for (std::size_t r = 0; r < all_.size(); ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    partner_[r].assign(all_[r].steps.size(), -1);
    for (std::size_t i = 0; i < all_[r].steps.size(); ++i) {
      const Step& s = all_[r].steps[i];
      if (s.kind == Kind::send) sends.push_back({rank, s.peer, static_cast<std::int32_t>(i)});
      if (receives(s)) receipts.push_back({s.peer, rank, static_cast<std::int32_t>(i)});
    }
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receipts.begin(), receipts.end());

  const auto channel = [](const Message& m) { return std::tie(m.from, m.to); };
  for (std::size_t i = 0; i < std::max(sends.size(), receipts.size()); ++i) {
    if (i == receipts.size() || (i < sends.size() && channel(sends[i]) < channel(receipts[i]))) {
      return fail(Status::internal, "{}: no receive meets this send", describe(all_, {sends[i].from, sends[i].step}));
    }
    if (i == sends.size() || channel(receipts[i]) < channel(sends[i])) {
      return fail(Status::internal, "{}: no send meets this receive",
                  describe(all_, {receipts[i].to, receipts[i].step}));
    }
    const Place sender{sends[i].from, sends[i].step};
    const Place receiver{receipts[i].to, receipts[i].step};
    partner_[static_cast<std::size_t>(sender.rank)][static_cast<std::size_t>(sender.step)] = receiver.step;
    partner_[static_cast<std::size_t>(receiver.rank)][static_cast<std::size_t>(receiver.step)] = sender.step;
    const Step& s = at(sender);
    const Step& r = at(receiver);
    if (s.src.first != r.dst.first || s.src.count != r.dst.count || s.level != r.level) {
      return fail(Status::internal,
                  "{} meets rank {}, step {} ({}): blocks {}+{} on level {} against {}+{} on level {}",
                  describe(all_, sender), receiver.rank, receiver.step, text(r), s.src.first, s.src.count, s.level,
                  r.dst.first, r.dst.count, r.level);
    }
    if (s.lane != r.lane)
      return fail(Status::internal, "{}, which is {} the work, meets rank {}, step {}, which is {} it",
                  describe(all_, sender), name(s.lane), receiver.rank, receiver.step, name(r.lane));
  }
  return Status::ok;
}

bool Replay::issued(Place place) const {
  return static_cast<std::size_t>(place.step) < progress_[static_cast<std::size_t>(place.rank)].issued;
}

bool Replay::ready(Place place) const {
  const auto& complete = progress_[static_cast<std::size_t>(place.rank)].complete;
  const auto waits_for = dependencies(place.rank).of(static_cast<std::size_t>(place.step));
  return std::all_of(waits_for.begin(), waits_for.end(),
                     [&](std::int32_t e) { return complete[static_cast<std::size_t>(e)]; });
}

Status Replay::run(const Visit& visit) {
  progress_.assign(all_.size(), {});
  std::vector<std::int32_t> active;
  for (std::size_t r = all_.size(); r-- > 0;) {
    progress_[r].complete.assign(all_[r].steps.size(), false);
    active.push_back(static_cast<std::int32_t>(r));
  }
  while (!active.empty()) {
    const std::int32_t rank = active.back();
    active.pop_back();
    Progress& own = progress_[static_cast<std::size_t>(rank)];
    while (own.issued < own.complete.size()) {
      const Place place{rank, static_cast<std::int32_t>(own.issued)};
      if (!ready(place)) break;
      ++own.issued;
      const bool message = at(place).peer >= 0;
      if (message && !issued(partner(place))) continue;
      const Place other = message ? partner(place) : Place{};
      const bool is_send = at(place).kind == Kind::send;
      if (const Status s = visit(is_send ? other : place, is_send ? place : other); s != Status::ok) return s;
      own.complete[static_cast<std::size_t>(place.step)] = true;
      if (message) {
        progress_[static_cast<std::size_t>(other.rank)].complete[static_cast<std::size_t>(other.step)] = true;
        active.push_back(other.rank);
      }
    }
  }
  return diagnose();
}

Status Replay::diagnose() const {
  std::int32_t rank = 0;
  const auto first_incomplete = [&](std::int32_t r) {
    const auto& complete = progress_[static_cast<std::size_t>(r)].complete;
    return static_cast<std::int32_t>(std::find(complete.begin(), complete.end(), false) - complete.begin());
  };
  const auto through = [&](std::int32_t r) {
    return static_cast<std::size_t>(first_incomplete(r)) == progress_[static_cast<std::size_t>(r)].complete.size();
  };
  while (static_cast<std::size_t>(rank) < all_.size() && through(rank)) ++rank;
  if (static_cast<std::size_t>(rank) == all_.size()) return Status::ok;

  std::vector<bool> seen(all_.size(), false);
  std::string chain;
  while (!seen[static_cast<std::size_t>(rank)]) {
    seen[static_cast<std::size_t>(rank)] = true;
    const Place stuck{rank, first_incomplete(rank)};
    chain += chain.empty() ? describe(all_, stuck)
                           : fmt::format("; rank {}, step {} ({})", rank, stuck.step, text(at(stuck)));
    rank = at(stuck).peer;
  }
  return fail(Status::internal, "deadlock: {} waits; back to rank {}", chain, rank);
}

}  // namespace stretto::schedule
