// Autotuner for the stores into slots. Moves: every rank fills its slot and then reads the next rank's. Reductions: a
// short allreduce or reduce, since with plain stores two ranks lend their slots (reduction.hpp). The time of all ranks
// together decides for all. Trials take about 0.1 ms, with shared cores 1 ms, and are repeated.
//
// Where ranks share cores, time is their processor time: waits include other ranks' work.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/guarded.hpp"
#include "node/collectives/collectives.hpp"
#include "node/collectives/reduction.hpp"

namespace stretto::node {
namespace {

constexpr int kTrials = 3;
constexpr std::size_t kTrialBytes = 64 * 1024;    // per copy
constexpr std::size_t kTrialSummed = 256 * 1024;  // per allreduce: a few chunks

class TrialClock {
 public:
  explicit TrialClock(bool cores_are_shared) noexcept
      : clock_(cores_are_shared ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC), begun_(now()) {}
  double microseconds() const noexcept { return now() - begun_; }

 private:
  double now() const noexcept {
    timespec t{};
    clock_gettime(clock_, &t);
    return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
  }

  const clockid_t clock_;
  const double begun_;
};

}  // namespace

Status Collectives::try_moves() noexcept {
  Group& g = *group_;
  const std::size_t bytes = std::min(kTrialBytes, g.slot_bytes());
  std::byte* buffer = nullptr;
  if (!attempt([&] { buffer = scratch(2 * bytes); })) return g.give_up_all(Purpose("to try {} bytes", bytes).fail());
  const int after = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  const std::uint64_t first = g.rounds(2 * kTrials);
  TrialTimes best;
  for (int k = 0; k < 2 * kTrials; ++k) {
    const std::uint64_t round = first + static_cast<std::uint64_t>(k);
    const Stores stores = k % 2 == 0 ? Stores::plain : Stores::streaming;
    if (const Status s = g.open(round, {&before, 1}, Group::Room::slot); s != Status::ok) return s;
    const TrialClock fill(g.oversubscribed());
    copy_to_peer(g.slot(round), buffer, bytes, stores);
    const double spent = fill.microseconds();
    g.publish(round);
    const Line* line = nullptr;
    if (const Status s = g.await(after, round, &line); s != Status::ok) return s;
    const TrialClock read(g.oversubscribed());
    copy_from_slot(buffer + bytes, g.slot(after, round), bytes, Stores::plain, stores);
    best.least(stores, spent + read.microseconds());
    g.done(round + 1);
  }
  return agree_on_stores(best, Use::moves);
}

// All trials of one kind precede the other's, so that slots lie where its stores leave them. Time starts at the end of
// the previous trial, when all ranks were present.
Status Collectives::try_reductions(Use use) noexcept {
  const Counters counted = counters_;
  const bool reduce = use == Use::reduce;
  TrialTimes best;
  const Status tried = group_->guarded_for_all({"to try {} bytes", kTrialSummed}, [&] {
    std::vector<std::byte> buffer(2 * kTrialSummed);  // not scratch(), which reductions use
    Reduction::Task task{.kind = reduce ? Collective::reduce : Collective::allreduce,
                         .in = buffer.data(),
                         .out = buffer.data() + kTrialSummed,
                         .count = kTrialSummed / sizeof(float),
                         .type = payload::Type::f32,
                         .operation = {},
                         .root = reduce ? 0 : -1};
    if (reduce && rank() != task.root) task.out = nullptr;
    for (int k = 0; k < 2 * kTrials; ++k) {
      const Stores stores = k < kTrials ? Stores::plain : Stores::streaming;
      stores_[index(use)] = stores;
      Reduction r(*this, task, one_level_);
      const TrialClock spent(group_->oversubscribed());
      if (const Status s = r.run(); s != Status::ok) return s;
      best.least(stores, spent.microseconds());
    }
    return Status::ok;
  });
  if (tried != Status::ok) return tried;
  counters_ = counted;
  return agree_on_stores(best, use);
}

Status Collectives::agree_on_stores(const TrialTimes& mine, Use use) noexcept {
  Group& g = *group_;
  const std::uint64_t round = g.rounds(1);
  if (const Status s = g.open(round, others_, Group::Room::small); s != Status::ok) return s;
  std::memcpy(g.line(round).payload, &mine, sizeof mine);
  g.publish(round);
  TrialTimes total = mine;
  for (const int r : others_) {
    const Line* line = nullptr;
    if (const Status s = g.await(r, round, &line); s != Status::ok) return s;
    TrialTimes theirs;
    std::memcpy(&theirs, line->payload, sizeof theirs);
    total.plain += theirs.plain;
    total.streaming += theirs.streaming;
  }
  g.done(round + 1);
  stores_[index(use)] = total.streaming < total.plain ? Stores::streaming : Stores::plain;
  return Status::ok;
}

// Every rank counts the bytes alike.
Status Collectives::try_when_due(Use use, std::size_t bytes) noexcept {
  if (fixed_stores_ || size() == 1) return Status::ok;
  // Several threads may drive a started call, and none of their clocks has its processor time.
  if (use != Use::moves && group_->oversubscribed() && group_->patience().suspend != nullptr) return Status::ok;
  std::uint64_t& until = until_tried_[index(use)];
  if (bytes < until) {
    until -= bytes;
    return Status::ok;
  }
  until = group_->oversubscribed() ? kTryEveryShared : kTryEvery;
  return use == Use::moves ? try_moves() : try_reductions(use);
}

}  // namespace stretto::node
