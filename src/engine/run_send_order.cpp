// Messages to a peer begin as they become ready, but not far ahead of the schedule (most_ahead).
#include <algorithm>
#include <functional>

#include "engine/run.hpp"

namespace stretto::engine {

void Run::queue_sends() {
  sends_.clear();
  if (plan_.most_messages <= most_ahead) return;  // nothing can be too far ahead
  sends_.assign(static_cast<std::size_t>(schedule_->ranks), Sends{});
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    if (unit.task != Task::send) continue;
    auto& units = sends_[static_cast<std::size_t>(unit.peer)].units;
    units.push_back(u);
  }
  for (Sends& s : sends_) {
    s.begun.assign(s.units.size(), 0);
    s.held.reserve(s.units.size());
  }
}

void Run::begin_send(Sends& sends, std::uint32_t number) noexcept {
  push_ready(sends.units[number]);
  sends.begun[number] = 1;
  ++sends.ahead;
  while (sends.first < sends.begun.size() && sends.begun[sends.first] != 0) {
    ++sends.first;
    --sends.ahead;
  }
}

void Run::send_in_turn(std::uint32_t u) noexcept {
  if (sends_.empty()) {
    push_ready(u);
    return;
  }
  const Unit& unit = plan_.units[u];
  Sends& sends = sends_[static_cast<std::size_t>(unit.peer)];
  const auto may = [&](std::uint32_t number) { return number == sends.first || sends.ahead < most_ahead; };
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
