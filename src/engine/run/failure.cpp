#include "engine/run/failure.hpp"

#include <algorithm>

#include "base/guarded.hpp"
#include "schedule/names.hpp"

namespace stretto::engine {

void Failure::clear() noexcept {
  status_ = Status::ok;
  stranded_ = false;
  say({});
}

std::string Failure::what_runs() const {
  const schedule::Schedule& s = values_.schedule();
  const payload::Spec& spec = values_.spec();
  return fmt::format("{} {} ({}) of {}{}{}, rank {}", schedule::name(s.collective), s.algorithm,
                     payload::name(spec.kind), payload::name(spec.type), values_.reduces() ? " by " : "",
                     values_.reduces() ? payload::name(spec.op) : "", s.rank);
}

std::string Failure::where(const Unit& unit) const {
  const schedule::Schedule& s = values_.schedule();
  std::string text = fmt::format("{} {} ({}), rank {}", schedule::name(s.collective), s.algorithm,
                                 payload::name(values_.spec().kind), s.rank);
  if (unit.step != kNone) text += fmt::format(", step {}", unit.step);
  if (unit.cells > 0) {
    const Place& place = plan_.places[unit.first_cell()];
    text += fmt::format(", block {} from element {}", place.block, place.first);
  }
  return text;
}

void Failure::say(std::string_view text) noexcept {
  const std::size_t n = std::min(text.size(), text_.size() - 1);
  std::copy_n(text.begin(), n, text_.begin());
  text_[n] = 0;
}

void Failure::record(Status status, const Unit* unit) noexcept {
  if (any()) return;
  mark_ = static_cast<std::byte>(status);  // not read before this
  status_ = status;
  say(message());
  if (unit == nullptr) return;
  static_cast<void>(attempt([&] { say(where(*unit) + ": " + message()); }));  // else the cause alone
}

void Failure::strand(Status status, const Unit* unit) noexcept {
  record(status, unit);
  stranded_ = true;
}

void Failure::end(Status status, const char* text) noexcept {
  if (any()) return;
  status_ = status;
  say(text);
}

}  // namespace stretto::engine
