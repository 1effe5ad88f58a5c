#include "node/memory/window.hpp"

#include <algorithm>
#include <cstring>

#include "node/memory/kernels.hpp"

namespace stretto::node {
Status Window::open(const CallRecord& call, Buffer input, Buffer results, std::uint64_t steps, bool* visible) {
  others_.clear();
  for (int r = 0; r < g_.size(); ++r)
    if (r != g_.rank()) others_.push_back(r);
  peers_.assign(static_cast<std::size_t>(g_.size()), {});
  if (const Status s = g_.enter(call); s != Status::ok) return s;
  const std::uint64_t rounds = kMeeting + steps + kClosing;
  first_ = next_ = g_.rounds(rounds);
  end_ = first_ + rounds;
  if (const Status s = meet(input, results, visible); s != Status::ok) return s;
  if (*visible) return Status::ok;
  g_.done(end_);
  g_.leave();
  return Status::ok;
}

Status Window::tell(const void* word, std::size_t bytes) noexcept {
  if (const Status s = g_.open(next_, others_, Group::Room::small); s != Status::ok) return s;
  if (bytes > 0) std::memcpy(g_.line(next_).payload, word, bytes);
  g_.publish(next_++);
  return Status::ok;
}

Status Window::meet(Buffer input, Buffer results, bool* visible) noexcept {
  const auto exposed = [this](Buffer b) { return b.empty() ? Exposure{} : memory_.expose(b.data(), b.size(), true); };
  const Published own{exposed(input), exposed(results), input.size(), results.size()};
  if (const Status s = tell(&own, sizeof own); s != Status::ok) return s;
  Refusal worst = Refusal::none;
  for (const int r : others_) {
    const Line* line = nullptr;
    if (const Status s = g_.await(r, first_, &line); s != Status::ok) return s;
    Published theirs;
    std::memcpy(&theirs, line->payload, sizeof theirs);
    Peer& peer = peers_[static_cast<std::size_t>(r)];
    peer.input = theirs.input;
    peer.results = theirs.results;
    worst = std::max({worst, try_reading(r, peer.input, theirs.input_bytes, &peer.seen_input),
                      try_reading(r, peer.results, theirs.results_bytes, &peer.seen_results)});
  }
  if (const Status s = tell(&worst, sizeof worst); s != Status::ok) return s;
  for (const int r : others_) {
    const Line* line = nullptr;
    if (const Status s = g_.await(r, first_ + 1, &line); s != Status::ok) return s;
    Refusal theirs{};
    std::memcpy(&theirs, line->payload, sizeof theirs);
    worst = std::max(worst, theirs);
  }
  if (worst == Refusal::by_kernel) memory_.stop_kernel();
  *visible = worst == Refusal::none;
  g_.done(first_ + kMeeting);
  return Status::ok;
}

Window::Refusal Window::try_reading(int peer, const Exposure& exposure, std::size_t bytes,
                                    const std::byte** seen) noexcept {
  if (bytes == 0) return Refusal::none;
  if (exposure.access == Access::staged) return Refusal::staged;
  if (visibility(exposure.access) == Visibility::mapped) *seen = memory_.reach(peer, exposure, 0, bytes);
  if (*seen != nullptr) return Refusal::none;
  for (const std::size_t at : {std::size_t{0}, bytes - 1}) {
    std::byte end{};
    if (memory_.read(peer, exposure, at, &end, 1) != Status::ok) return Refusal::by_kernel;
  }
  return Refusal::none;
}

Status Window::input(int peer, std::size_t at, std::size_t bytes, std::byte* room, const std::byte** found) noexcept {
  const Peer& p = peers_[static_cast<std::size_t>(peer)];
  *found = p.seen_input != nullptr ? p.seen_input + at : room;
  if (p.seen_input != nullptr || bytes == 0) return Status::ok;
  const Status s = memory_.read(peer, p.input, at, room, bytes);
  return s == Status::ok ? s : g_.give_up_all(s);
}

Status Window::publish() noexcept { return tell(nullptr, 0); }

Status Window::await_left(int peer, std::uint64_t step) noexcept {
  return g_.await_done({&peer, 1}, first_ + kMeeting + step + 1);
}

Status Window::fetch(int peer, std::uint64_t step, std::size_t at, std::size_t bytes, std::byte* to) noexcept {
  const Line* line = nullptr;
  if (const Status s = g_.await(peer, first_ + kMeeting + step, &line); s != Status::ok) return s;
  if (bytes == 0) return Status::ok;
  const Peer& p = peers_[static_cast<std::size_t>(peer)];
  if (p.seen_results != nullptr) {
    copy_theirs(to, p.seen_results + at, bytes, Stores::plain);
    return Status::ok;
  }
  const Status s = memory_.read(peer, p.results, at, to, bytes);
  return s == Status::ok ? s : g_.give_up_all(s);
}

Status Window::close() noexcept {
  g_.done(end_);
  if (const Status s = g_.await_done(others_, end_); s != Status::ok) return s;
  g_.leave();
  return Status::ok;
}

}  // namespace stretto::node
