#include "select/autotuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/float_environment.hpp"

namespace stretto::select {
namespace {

constexpr double brief = 5e-3;           // seconds of a call that is worth warming up twice
constexpr double turn_seconds = 0.4e-3;  // of a turn of several calls
constexpr double far = 1.25;             // behind the leader: times its median
constexpr double hopeless = 2;           // the same after one turn, where rounds are long
constexpr double look_seconds = 1;       // of all rounds of a look after the first, where they are more than the least

// The upper one of the middle two, so that a lucky turn of two says nothing.
double median(const std::vector<double>& of) noexcept {
  std::array<double, Autotuner::most_rounds> v{};
  const auto end = v.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), v.size()));
  std::copy_n(of.begin(), end - v.begin(), v.begin());
  const auto middle = v.begin() + (end - v.begin()) / 2;
  std::nth_element(v.begin(), middle, end);
  return *middle;
}

}  // namespace

Autotuner::Autotuner(std::size_t candidates, double expected)
    : seconds_(candidates), calls_(candidates), in_(candidates), warming_calls_(expected < brief ? 2 : 1) {
  for (auto& s : seconds_) s.reserve(most_rounds);
  order_.reserve(candidates);
  if (candidates < 2)
    settled_ = true;
  else
    begin();
}

void Autotuner::begin() noexcept {
  for (auto& s : seconds_) s.clear();
  std::fill(calls_.begin(), calls_.end(), warming_calls_);
  std::fill(in_.begin(), in_.end(), 1);
  rounds_ = round_ = at_ = call_ = 0;
  sum_ = 0;
  made_ = 0;
  settled_ = false;
  ++looks_;
  shuffle();
}

// The same on all ranks. The first round is in the candidates' own order.
void Autotuner::shuffle() noexcept {
  order_.clear();
  for (std::size_t c = 0; c < in_.size(); ++c)
    if (in_[c]) order_.push_back(c);  // within what was reserved
  if (round_ == 0) return;
  std::uint64_t state = round_;
  for (std::size_t i = order_.size(); i > 1; --i) {
    state = (state + 1) * 0x9E3779B97F4A7C15u;
    std::swap(order_[i - 1], order_[(state >> 33) % i]);
  }
}

bool Autotuner::took(double seconds) noexcept {
  if (settled_) return false;
  ++made_;
  const bool warming = round_ == 0;
  const std::size_t who = order_[at_];
  sum_ = warming ? seconds : sum_ + seconds;  // the last call of a turn that warms up
  if (++call_ < calls_[who]) return false;
  seconds_[who].push_back(warming ? sum_ : sum_ / static_cast<double>(calls_[who]));
  call_ = 0;
  sum_ = 0;
  if (++at_ < order_.size()) return false;
  at_ = 0;
  ++round_;
  shuffle();
  const bool long_first = round_ == 2 && rounds_ == least_rounds;
  return warming || long_first || round_ == 1 + least_rounds || round_ > rounds_;
}

std::vector<double> Autotuner::times() const {
  std::vector<double> all;
  for (std::size_t c = 0; c < in_.size(); ++c)
    if (in_[c]) all.insert(all.end(), seconds_[c].begin(), seconds_[c].end());
  return all;
}

void Autotuner::compare(const std::vector<double>& slowest) noexcept {
  const FloatEnvironment environment;
  const std::size_t each = settled_ ? 0 : seconds_.front().size();  // candidate 0 is never out
  if (each == 0 || slowest.size() != each * order_.size()) return;
  auto from = slowest.begin();
  for (std::size_t c = 0; c < in_.size(); ++c) {
    if (!in_[c]) continue;
    std::copy_n(from, each, seconds_[c].begin());
    from += static_cast<std::ptrdiff_t>(each);
  }
  if (rounds_ == 0)
    warmed_up();
  else if (round_ > rounds_)
    settle();
  else
    drop_out();
}

void Autotuner::warmed_up() noexcept {
  double round = 0;
  for (std::size_t c = 0; c < seconds_.size(); ++c) {
    const double took = seconds_[c].front(), fit = took > 0 ? turn_seconds / took : 1;
    calls_[c] = static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(most_calls)));
    if (std::isfinite(took)) round += took * static_cast<double>(calls_[c]);
    seconds_[c].clear();
  }
  const double fit = round > 0 ? look_seconds / round : most_rounds;
  rounds_ =
      static_cast<std::size_t>(std::clamp(fit, static_cast<double>(least_rounds), static_cast<double>(most_rounds)));
}

std::size_t Autotuner::leader() const noexcept {
  std::size_t best = 0;
  for (std::size_t c = 1; c < in_.size(); ++c)
    if (in_[c] && median(seconds_[c]) < median(seconds_[best])) best = c;
  return best;
}

void Autotuner::drop_out() noexcept {
  const double most = (round_ == 2 ? hopeless : far) * median(seconds_[leader()]);
  for (std::size_t c = 1; c < in_.size(); ++c) in_[c] = in_[c] && median(seconds_[c]) <= most;
  shuffle();
  if (order_.size() == 1) settle();
}

void Autotuner::settle() noexcept {
  const std::size_t best = leader();
  winner_ = median(seconds_[best]) < (1 - margin) * median(seconds_[0]) ? best : 0;
  settled_ = true;
  until_second_ = looks_ == 1 ? second_after * made_ : 0;
}

}  // namespace stretto::select
