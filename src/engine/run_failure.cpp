#include <algorithm>

#include "engine/run.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {

std::string Run::what_runs() const {
  return fmt::format("{} {} ({}) of {}{}{}, rank {}", schedule::name(schedule_->collective), schedule_->algorithm,
                     payload::name(spec_.kind), payload::name(spec_.type), reduces_ ? " by " : "",
                     reduces_ ? payload::name(spec_.op) : "", schedule_->rank);
}

std::string Run::where(const Unit& unit) const {
  std::string text = fmt::format("{} {} ({}), rank {}", schedule::name(schedule_->collective), schedule_->algorithm,
                                 payload::name(spec_.kind), schedule_->rank);
  if (unit.step != none) text += fmt::format(", step {}", unit.step);
  if (unit.cells > 0) {
    const Place& place = plan_.places[unit.task == Task::send ? unit.src : unit.dst];
    text += fmt::format(", block {} from element {}", place.block, place.first);
  }
  return text;
}

void Run::say(std::string_view text) noexcept {
  const std::size_t n = std::min(text.size(), text_.size() - 1);
  std::copy_n(text.begin(), n, text_.begin());
  text_[n] = 0;
}

// The first failure only. Peers get marks from then on.
void Run::failed(Status status, const Unit* unit) noexcept {
  if (status_ != Status::ok) return;
  mark_ = static_cast<std::byte>(status);  // not read before this
  status_ = status;
  say(message());
  if (unit == nullptr) return;
  try {
    say(where(*unit) + ": " + message());
  } catch (const std::bad_alloc&) {  // the cause alone
  }
}

void Run::strand(Status status, const Unit* unit) noexcept {
  failed(status, unit);
  stranded_ = true;
}

bool Run::under_way(std::uint32_t u) const noexcept {
  const State state = live_[u].state;
  const bool comes = receives(plan_.units[u].task);
  return (comes && state == State::posted) || ((comes || plan_.units[u].task == Task::send) && state == State::moving);
}

// The device still makes the message.
bool Run::departs(std::uint32_t u) const noexcept {
  return std::any_of(departures_.begin(), departures_.end(), [u](const Departure& d) { return d.unit == u; });
}

std::string Run::diagnosis(double seconds) const {
  constexpr std::size_t most_lines = 4;
  std::string text =
      fmt::format("{} {} ({}), rank {}: nothing came for {:.3g} s;", schedule::name(schedule_->collective),
                  schedule_->algorithm, payload::name(spec_.kind), schedule_->rank, seconds);
  if (between_ != nullptr) text += fmt::format(" messages between devices go by {};", between_->name());
  const bool returns =
      std::any_of(live_.begin(), live_.end(), [](const Live& live) { return live.state == State::returns; });
  if (device_ != nullptr && (left_ == 1 || returns || !departures_.empty())) {
    const int number = device_->device().number();
    text += departures_.empty() ? fmt::format(" device {} is still at work;", number)
                                : fmt::format(" device {} is still at work for step {};", number,
                                              plan_.units[departures_.front().unit].step);
  }
  std::size_t missing = 0;
  for (std::uint32_t u = 0; u < plan_.units.size(); ++u) {
    const Unit& unit = plan_.units[u];
    const bool comes = receives(unit.task);
    if (!under_way(u) || departs(u)) continue;
    if (++missing > most_lines) continue;
    text += fmt::format("{} step {} is missing rank {} ({}", missing > 1 ? "," : "", unit.step, unit.peer,
                        comes ? "its message" : "to take a message");
    if (unit.cells > 0) {
      const Place& place = plan_.places[comes ? unit.dst : unit.src];
      text += fmt::format(", block {} from element {}", place.block, place.first);
    }
    text += ")";
  }
  if (!going_) text += " it waits for an earlier collective of the communicator, which has not ended";
  if (missing > most_lines) text += fmt::format(", and {} more", missing - most_lines);
  return text;
}

void Run::give_up(Status status, const char* text, std::vector<Hold>* lost) noexcept {
  if (device_ != nullptr) {
    for (const Departure& d : departures_) live_[d.unit].state = State::done;  // not with the carrier yet
  }
  for (std::uint32_t u = 0; u < live_.size(); ++u) {
    Live& live = live_[u];
    const bool announced = live.crossing != none && crossings_[live.crossing].announced;
    if (!announced && (live.state == State::posted || live.state == State::moving)) {
      const bool notice = live.transfers > 1 && live.notice.bytes > 0;
      if (notice) static_cast<void>(carrier_->cancel(id_of(u) | notice_bit));
      if (!carrier_->cancel(id_of(u)) && (live.hold.buffer || live.hold.stream)) {
        try {
          lost->push_back(live.hold);
        } catch (const std::bad_alloc&) {
          alignas(Hold) std::byte forever[sizeof(Hold)];
          new (forever) Hold(live.hold);  // never destroyed: the carrier may still write there
        }
      }
    }
    live.hold = {};
    live.state = State::done;
  }
  end_crossings(lost);
  left_ = 0;
  if (status_ != Status::ok) return;
  status_ = status;
  say(text);
}

}  // namespace stretto::engine
