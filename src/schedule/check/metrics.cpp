#include "schedule/check/metrics.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "schedule/check/form.hpp"
#include "schedule/check/replay.hpp"

namespace stretto::schedule {
namespace {

Status chain(std::span<const Schedule> all, std::int64_t* longest) {
  Replay replay(all);
  if (const Status s = replay.match(); s != Status::ok) return s;
  std::vector<std::vector<std::int64_t>> depth(all.size());
  for (std::size_t r = 0; r < all.size(); ++r) depth[r].assign(all[r].steps.size(), 0);
  const auto of = [&](Place p) -> std::int64_t& {
    return depth[static_cast<std::size_t>(p.rank)][static_cast<std::size_t>(p.step)];
  };
  const auto before = [&](Place p) {
    std::int64_t d = 0;
    for (const std::int32_t e : replay.dependencies(p.rank).of(static_cast<std::size_t>(p.step)))
      d = std::max(d, of({p.rank, e}));
    return d;
  };
  return replay.run([&](Place place, Place sender) {
    const bool message = sender.rank >= 0;
    of(place) = message ? std::max(before(place), before(sender)) + 1 : before(place);
    if (message) of(sender) = of(place);
    *longest = std::max(*longest, of(place));
    return Status::ok;
  });
}

}  // namespace

Status measure(std::span<const Schedule> all, Metrics* metrics) {
  *metrics = {};
  if (const Status s = check_form(all); s != Status::ok) return s;
  std::set<std::uint32_t> rounds;
  for (const Schedule& s : all) {
    std::int64_t messages = 0;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t combines = 0;
    std::vector<bool> scratch(static_cast<std::size_t>(s.blocks), false);
    for (const Step& step : s.steps) {
      if (step.peer >= 0) rounds.insert(step.level);
      if (step.kind == Kind::send) {
        ++messages;
        sent += step.src.count;
      }
      if (step.kind == Kind::recv_replace || step.kind == Kind::recv_combine) received += step.dst.count;
      if (step.kind == Kind::recv_combine || step.kind == Kind::combine) combines += step.dst.count;
      const Range writes = written_by(step);
      if (writes.buffer == Buffer::tmp) std::fill_n(scratch.begin() + writes.first, writes.count, true);
    }
    metrics->messages += messages;
    metrics->messages_sent_max = std::max(metrics->messages_sent_max, messages);
    metrics->blocks_sent += sent;
    metrics->blocks_sent_max = std::max(metrics->blocks_sent_max, sent);
    metrics->blocks_received_max = std::max(metrics->blocks_received_max, received);
    metrics->combines += combines;
    metrics->combines_max = std::max(metrics->combines_max, combines);
    metrics->scratch_max =
        std::max(metrics->scratch_max, std::int64_t{std::count(scratch.begin(), scratch.end(), true)});
  }
  metrics->rounds = static_cast<std::int64_t>(rounds.size());
  return chain(all, &metrics->depth);
}

}  // namespace stretto::schedule
