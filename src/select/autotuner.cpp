#include "select/autotuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_environment.hpp"

namespace stretto::select {
namespace {

constexpr double least_seconds = 1e-6;   // of a call: keeps divisions finite
constexpr double brief = 5e-3;           // seconds of a call that is worth warming up twice
constexpr double turn_seconds = 0.4e-3;  // of a turn of several calls
constexpr double unknown = 2;            // times the leader: the least that is expected of an unmeasured candidate
constexpr double hopeless = 2;           // times the leader, in the turn that warms up
constexpr double far = 1.25;             // times the leader, in a later turn
constexpr double longest_wait = 1e9;     // calls

}  // namespace

double Autotuner::State::median() const noexcept {
  const std::size_t n = std::min(turns, seconds.size());
  if (n == 0) return std::numeric_limits<double>::infinity();
  std::array<double, rounds> v = seconds;
  std::sort(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n));
  return v[n / 2];  // the upper one of two, so that a lucky turn of two shows nothing
}

Autotuner::Autotuner(double seconds, double agreement) noexcept
    : predicted_(std::max(seconds, least_seconds)), agreement_(agreement) {
  const FloatEnvironment environment;
  // At the first agreement the leader alone is measured. A challenger's turn is due soon after.
  const double calls = (2 * agreement_ + (unknown - 1) * predicted_) / (budget * predicted_);
  until_ = static_cast<std::uint64_t>(std::ceil(std::min(calls, longest_wait)));
}

void Autotuner::enter(const std::vector<double>& predicted) {
  const FloatEnvironment environment;
  states_.assign(std::max<std::size_t>(predicted.size(), 1), {});
  for (std::size_t c = 1; c < predicted.size(); ++c)
    states_[c].factor = predicted[0] > 0 ? std::max(predicted[c] / predicted[0], unknown) : unknown;
}

bool Autotuner::open(std::size_t candidate) const noexcept {
  if (candidate == leader_) return true;
  return !over_ && candidate < states_.size() && states_[candidate].in;
}

double Autotuner::leader_seconds() const noexcept {
  const double measured = states_[leader_].median();
  return std::isfinite(measured) ? std::max(measured, least_seconds) : predicted_;
}

double Autotuner::expected(std::size_t candidate) const noexcept {
  const State& s = states_[candidate];
  const double measured = s.median();
  return std::isfinite(measured) ? measured : s.factor * leader_seconds();
}

std::size_t Autotuner::calls_of_turn(double seconds) const noexcept {
  return static_cast<std::size_t>(std::clamp(turn_seconds / seconds, 1.0, static_cast<double>(most_calls)));
}

std::size_t Autotuner::calls_of_warming() const noexcept { return leader_seconds() < brief ? 1 : 0; }

// Two turns begin with an agreement each; the challenger's calls take longer than the leader's, as far as is known.
double Autotuner::regret_of_round(std::size_t candidate) const noexcept {
  const double leader = leader_seconds();
  const std::size_t counted = states_[candidate].warm ? calls_of_turn(leader) : 1;
  const auto calls = static_cast<double>(counted + calls_of_warming());
  return 2 * agreement_ + calls * std::max(expected(candidate) - leader, 0.0);
}

void Autotuner::agreed(const TurnTimes& merged) noexcept {
  const FloatEnvironment environment;
  ++changes_;
  if (turned_) conclude(merged);
  plan();
}

void Autotuner::conclude(const TurnTimes& merged) noexcept {
  turned_ = false;
  if (std::isfinite(merged.agreement)) {
    agreement_ = merged.agreement;
    spent_ += merged.agreement;
  }
  State& s = states_[who_];
  if (who_ == leader_) {
    if (std::isfinite(merged.seconds)) s.add(merged.seconds);
    ++leader_turns_;
    return;
  }
  const double leader = leader_seconds();
  if (!std::isfinite(merged.seconds)) {
    s.in = false;
  } else {
    spent_ += static_cast<double>(counted_ + calls_of_warming()) * std::max(merged.seconds - leader, 0.0);
    if (s.warm) s.add(merged.seconds);
    if (merged.seconds > (s.warm ? far : hopeless) * leader) s.in = false;
    s.warm = true;
  }
  if (s.in && s.turns == rounds) {
    if (s.median() < (1 - margin) * leader)
      take_lead(who_);
    else
      s.in = false;
  }
  if (!s.in || who_ == leader_) challenger_ = none;
}

void Autotuner::take_lead(std::size_t candidate) noexcept {
  states_[leader_].in = false;
  leader_ = candidate;
}

void Autotuner::plan() noexcept {
  if (challenger_ == none) {
    leader_turns_ = 0;
    for (std::size_t c = 0; c < states_.size() && challenger_ == none; ++c)
      if (c != leader_ && states_[c].in) challenger_ = c;
  }
  if (challenger_ == none) {
    over_ = true;
    return;
  }
  if (states_[leader_].turns == 0) {
    begin(leader_);
    return;
  }
  const State& s = states_[challenger_];
  const std::size_t turns = s.turns + (s.warm ? 1 : 0);
  const double made = static_cast<double>(calls_), regret = spent_ + regret_of_round(challenger_);
  if (regret <= budget * leader_seconds() * made) {
    begin(turns > 0 && leader_turns_ <= turns ? leader_ : challenger_);
    return;
  }
  spent_ += agreement_;  // of the call that would have begun the turn
  const double calls = (regret + agreement_) / (budget * leader_seconds());
  until_ = static_cast<std::uint64_t>(std::max(std::ceil(std::min(calls, longest_wait)) - made, 1.0));
}

void Autotuner::begin(std::size_t who) noexcept {
  who_ = who;
  const bool warms = who != leader_ && !states_[who].warm;
  counted_ = warms ? 1 : calls_of_turn(leader_seconds());
  left_ = counted_ + (who == leader_ ? 0 : calls_of_warming());
  own_ = {};
}

void Autotuner::took(double seconds, double agreement) noexcept {
  if (left_ == 0) return;
  ++calls_;
  own_.agreement += agreement;
  if (left_ <= counted_) own_.seconds += seconds / static_cast<double>(counted_);
  if (!std::isfinite(seconds)) own_.seconds = seconds;
  if (--left_ > 0) return;
  turned_ = true;
  until_ = 0;
  ++changes_;
}

}  // namespace stretto::select
