#include "engine/run/units.hpp"

#include <algorithm>
#include <functional>

namespace stretto::engine {

void Units::begin() {
  states_.assign(plan_.units.size(), UnitState{});
  std::array<std::size_t, schedule::kLaneCount> most{};
  for (std::uint32_t u = 0; u < count(); ++u) {
    states_[u].waits_for = plan_.units[u].waits_for;
    ++most[static_cast<std::size_t>(plan_.units[u].lane)];
  }
  for (std::size_t lane = 0; lane < most.size(); ++lane) ready_[lane].begin(most[lane]);
  deliveries_.begin(states_.size());
  left_before_ = most[static_cast<std::size_t>(schedule::Lane::before)];
  left_ = states_.size();
  queue_sends();
}

void Units::queue_sends() {
  sends_.clear();
  if (plan_.most_messages <= kMostAhead) return;
  for (std::uint32_t u = 0; u < count(); ++u) {
    const Unit& unit = plan_.units[u];
    if (unit.task != Task::send) continue;
    const auto peer = static_cast<std::size_t>(unit.peer);
    if (peer >= sends_.size()) sends_.resize(peer + 1);
    sends_[peer].units.push_back(u);
  }
  for (Sends& s : sends_) {
    s.begun.assign(s.units.size(), 0);
    s.held.reserve(s.units.size());
  }
}

void Units::start() noexcept {
  for (std::uint32_t u = 0; u < count(); ++u) {
    if (states_[u].waits_for == 0 && states_[u].phase != Phase::arrived) make_ready(u);
  }
}

std::uint32_t Units::take(Lanes lanes) noexcept {
  auto& [before, beside, after] = ready_;
  Ready* const from = lanes.before && before.some()        ? &before
                      : lanes.beside && beside.some()      ? &beside
                      : lanes.after && after.some()        ? &after
                      : lanes.beside && deliveries_.some() ? &deliveries_
                                                           : nullptr;
  return from == nullptr ? kNone : from->units[from->next++];
}

void Units::make_ready(std::uint32_t u) noexcept {
  const Unit& unit = plan_.units[u];
  UnitState& state = states_[u];
  if (receives(unit.task) && state.way != Way::in_place) {
    if (state.phase != Phase::arrived) return;
  } else {
    state.phase = Phase::ready;
  }
  switch (unit.task) {
    case Task::deliver: deliveries_.units.push_back(u); break;
    case Task::send: send_in_turn(u); break;
    default: push(u);
  }
}

void Units::arrived(std::uint32_t u) noexcept {
  states_[u].phase = Phase::arrived;
  if (states_[u].waits_for == 0) make_ready(u);
}

void Units::release(std::uint32_t u) noexcept {
  for (std::uint32_t e = plan_.units[u].followers; e != kNone; e = plan_.edges[e].next) {
    const std::uint32_t follower = plan_.edges[e].unit;
    if (--states_[follower].waits_for == 0) make_ready(follower);
  }
}

void Units::finish(std::uint32_t u) noexcept {
  states_[u].phase = Phase::done;
  --left_;
  if (plan_.units[u].lane == schedule::Lane::before) --left_before_;
}

void Units::begin_send(Sends& sends, std::uint32_t number) noexcept {
  push(sends.units[number]);
  sends.begun[number] = 1;
  ++sends.ahead;
  while (sends.first < sends.begun.size() && sends.begun[sends.first] != 0) {
    ++sends.first;
    --sends.ahead;
  }
}

void Units::send_in_turn(std::uint32_t u) noexcept {
  if (sends_.empty()) {
    push(u);
    return;
  }
  const Unit& unit = plan_.units[u];
  Sends& sends = sends_[static_cast<std::size_t>(unit.peer)];
  const auto may = [&](std::uint32_t number) { return number == sends.first || sends.ahead < kMostAhead; };
  if (!may(unit.message)) {
    sends.held.push_back(unit.message);
    std::push_heap(sends.held.begin(), sends.held.end(), std::greater<>());
    return;
  }
  begin_send(sends, unit.message);
  while (!sends.held.empty() && may(sends.held.front())) {
    const std::uint32_t next = sends.held.front();
    std::pop_heap(sends.held.begin(), sends.held.end(), std::greater<>());
    sends.held.pop_back();
    begin_send(sends, next);
  }
}

}  // namespace stretto::engine
