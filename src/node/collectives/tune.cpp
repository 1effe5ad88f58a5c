// Which stores a rank uses into its slots, by trying both. One trial: every rank fills its slot and then reads that of the rank
// after it; what the ranks spent together, without waiting, decides for all. About a tenth of a millisecond, now and then: the
// answer changes with the placement of the processes, which on a virtual machine changes while they run.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

constexpr int trials = 3;
constexpr std::size_t trial_bytes = 64 * 1024;

double microseconds_since(std::chrono::steady_clock::time_point begin) noexcept {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Status Collectives::tune() noexcept {
  since_tuned_ = 0;
  if (size() == 1 || group_->oversubscribed()) return Status::ok;  // who shares a core measures the others
  Group& g = *group_;
  const std::size_t bytes = std::min(trial_bytes, g.slot_bytes());
  std::byte* buffer = nullptr;
  try {
    buffer = scratch(2 * bytes);
  } catch (const std::bad_alloc&) {
    return g.give_up_all(fail(Status::out_of_memory, "no memory to try {} bytes", bytes));
  }
  const int after = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  const std::uint64_t first = g.rounds(2 * trials + 1);
  double best[2] = {1e30, 1e30};
  for (int k = 0; k < 2 * trials; ++k) {
    const std::uint64_t round = first + static_cast<std::uint64_t>(k);
    if (const Status s = g.open(round, {&before, 1}, Group::Room::slot); s != Status::ok) return s;
    auto begin = std::chrono::steady_clock::now();
    copy_to_theirs(g.slot(round), buffer, bytes, k % 2 == 0 ? Stores::plain : Stores::streaming);
    double spent = microseconds_since(begin);
    g.publish(round);
    const Line* line = nullptr;
    if (const Status s = g.await(after, round, &line); s != Status::ok) return s;
    begin = std::chrono::steady_clock::now();
    copy_theirs(buffer + bytes, g.slot(after, round), bytes, Stores::plain);
    spent += microseconds_since(begin);
    g.done(round + 1);
    best[k % 2] = std::min(best[k % 2], spent);
  }
  const std::uint64_t last = first + 2 * trials;
  if (const Status s = g.open(last, others_, Group::Room::small); s != Status::ok) return s;
  std::memcpy(g.line(last).payload, best, sizeof best);
  g.publish(last);
  double total[2] = {0, 0};
  for (int r = 0; r < size(); ++r) {
    double theirs[2] = {best[0], best[1]};
    if (r != rank()) {
      const Line* line = nullptr;
      if (const Status s = g.await(r, last, &line); s != Status::ok) return s;
      std::memcpy(theirs, line->payload, sizeof theirs);
    }
    total[0] += theirs[0];
    total[1] += theirs[1];
  }
  g.done(last + 1);
  stores_ = total[1] < total[0] ? Stores::streaming : Stores::plain;
  return Status::ok;
}

// After so many bytes through the slots they are tried again: every rank counts the same.
Status Collectives::tune_when_due(std::size_t bytes) noexcept {
  if (fixed_stores_) return Status::ok;
  const bool first = since_tuned_ == kNever;
  if (!first && (since_tuned_ += bytes) < kTuneEvery) return Status::ok;
  return tune();
}

}  // namespace stretto::node
