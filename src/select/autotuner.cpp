#include "select/autotuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace stretto::select {
namespace {

constexpr std::size_t first_look = 3;     // rounds, with the first
constexpr std::size_t enough_rounds = 3;  // that count, from which on medians tell something
constexpr double clearly = 1.1;           // even at best slower than that many times the leader's median
constexpr double far = 1.4;               // usually slower than that many times the leader's median: no chance
constexpr double close = 1.05;            // a lead over number 0 that may be chance;
constexpr double close_of_few = 1.1;      // where few rounds were made;
constexpr double close_of_short = 1.2;    // and where a call takes less than
constexpr double short_call = 50e-6;      // so many seconds
constexpr double margin = 1.02;           // a lead over number 0 of one that is alike, where nothing is risked
constexpr double much = 1.0;              // seconds of all turns together; twice as many with the final
constexpr std::size_t final_rounds = 8;
constexpr std::size_t looked_at_again = 3;  // contestants
constexpr double brief = 5e-3;              // seconds of a call that is worth warming up twice
constexpr double turn_seconds = 0.4e-3;     // that a turn of several calls takes

// Of few values; the upper one of the middle two, so that one lucky turn of two says nothing.
double median(const std::vector<double>& of) noexcept {
  std::array<double, Autotuner::most_rounds> v{};
  const auto end = v.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), v.size()));
  std::copy_n(of.begin(), end - v.begin(), v.begin());
  const auto middle = v.begin() + (end - v.begin()) / 2;
  std::nth_element(v.begin(), middle, end);
  return *middle;
}

double least(const std::vector<double>& of) noexcept { return *std::min_element(of.begin(), of.end()); }

}  // namespace

Autotuner::Autotuner(std::size_t contestants, double expected, std::size_t alike)
    : alike_(alike),
      open_(contestants),
      seconds_(contestants),
      order_(contestants),
      calls_(contestants),
      warming_calls_(expected < brief ? 2 : 1) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
  lost_.reserve(contestants);
  for (auto& s : seconds_) s.reserve(most_rounds);
  begin();
}

void Autotuner::begin() noexcept {
  for (auto& s : seconds_) s.clear();
  std::fill(calls_.begin(), calls_.end(), warming_calls_);
  at_ = rounds_ = charged_ = 0;
  final_ = false;
  spent_ = made_ = price_ = 0;
  shuffle();
}

// Who leads many has been lucky, too: between baseline and the leader rounds decide that did not choose him.
void Autotuner::begin_final(std::size_t leader, std::size_t baseline) noexcept {
  keep([&](std::size_t i) { return i == baseline || i == leader; });
  for (auto& s : seconds_) s.clear();
  rounds_ = 1;  // nobody has to warm up
  charged_ = 0;
  final_ = true;
  shuffle();
}

// The same on all ranks. A look begins in their order.
void Autotuner::shuffle() noexcept {
  order_.resize(open_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (rounds_ == 0) return;
  std::uint64_t state = rounds_;
  for (std::size_t i = order_.size(); i > 1; --i) {
    state = (state + 1) * 0x9E3779B97F4A7C15u;
    std::swap(order_[i - 1], order_[(state >> 33) % i]);
  }
}

bool Autotuner::took(double seconds) noexcept {
  if (settled()) return false;
  const bool warming = rounds_ == 0;
  const std::size_t who = order_[at_];
  sum_ = warming ? seconds : sum_ + seconds;  // the last call of a turn that warms up
  if (++call_ < calls_[who]) return false;
  seconds_[who].push_back(warming ? sum_ : sum_ / static_cast<double>(calls_[who]));  // within what was reserved
  call_ = 0;
  sum_ = 0;
  if (++at_ < open_.size()) return false;
  at_ = 0;
  ++rounds_;
  shuffle();
  return rounds_ == 1 || rounds_ >= first_look;
}

std::vector<double> Autotuner::times() const {
  std::vector<double> all;
  for (std::size_t i = 0; i < open_.size(); ++i) all.insert(all.end(), seconds_[i].begin(), seconds_[i].end());
  return all;
}

template <class Stays>
void Autotuner::keep(const Stays& stays) noexcept {
  const std::size_t out = lost_.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (!stays(i)) {
      lost_.push_back(i);
      continue;
    }
    if (kept != i) {
      std::swap(open_[kept], open_[i]);
      seconds_[kept].swap(seconds_[i]);
      std::swap(calls_[kept], calls_[i]);
      std::replace(lost_.begin() + static_cast<std::ptrdiff_t>(out), lost_.end(), kept, i);
    }
    ++kept;
  }
  // Of those that go together the slowest first.
  const auto gone = lost_.begin() + static_cast<std::ptrdiff_t>(out);
  std::sort(gone, lost_.end(), [&](std::size_t a, std::size_t b) {
    const double x = median(seconds_[a]), y = median(seconds_[b]);
    return x != y ? x > y : open_[a] > open_[b];
  });
  std::for_each(gone, lost_.end(), [&](std::size_t& i) { i = open_[i]; });
  open_.resize(kept);
  shuffle();
}

void Autotuner::look_again() noexcept {
  if (!settled()) return;
  const auto enter = [&](std::size_t who) {
    if (std::erase(lost_, who) > 0) open_.push_back(who);
  };
  for (std::size_t who = 0; who < alike_; ++who) enter(who);
  while (open_.size() < looked_at_again && !lost_.empty()) enter(lost_.back());
  std::sort(open_.begin(), open_.end());
  begin();
}

// Each by its own time: a turn of one that is slow is one call.
void Autotuner::after_warming() noexcept {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const double took = seconds_[i].front(), fit = took > 0 ? turn_seconds / took : 1;
    calls_[i] = static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(most_calls)));
    seconds_[i].clear();
  }
}

// Rounds [from, to) of those that are compared now. One that failed took no time that counts.
void Autotuner::charge(std::size_t from, std::size_t to) noexcept {
  for (std::size_t i = 0; i < open_.size(); ++i)
    for (std::size_t r = from; r < to; ++r) {
      if (std::isfinite(seconds_[i][r])) spent_ += seconds_[i][r] * static_cast<double>(calls_[i]);
      made_ += static_cast<double>(calls_[i]);
    }
}

// The best of those that are alike with number 0, which is in; nobody: the number of contestants.
std::size_t Autotuner::baseline() const noexcept {
  std::size_t best = open_.size();
  for (std::size_t i = 0; i < open_.size() && open_[i] < alike_; ++i)
    if (best == open_.size() || median(seconds_[i]) * margin < median(seconds_[best])) best = i;
  return best;
}

bool Autotuner::surely_beats(std::size_t i, std::size_t other) const noexcept {
  const std::vector<double>&own = seconds_[i], &first = seconds_[other];
  std::size_t won = 0;
  for (std::size_t r = 0; r < own.size(); ++r) won += own[r] < first[r] ? 1 : 0;
  const double margin = median(first) < short_call ? close_of_short : own.size() > enough_rounds ? close : close_of_few;
  return median(own) * margin < median(first) && won >= own.size() - own.size() / (final_ ? 8 : 4);
}

bool Autotuner::beats_by_far(std::size_t i, std::size_t other) const noexcept {
  return surely_beats(i, other) && median(seconds_[i]) * far < least(seconds_[other]);
}

void Autotuner::compare(const std::vector<double>& slowest) noexcept {
  const std::size_t each = rounds_ > 1 ? rounds_ - 1 : 1;
  if (settled() || rounds_ == 0 || slowest.size() != each * open_.size()) return;
  auto from = slowest.begin();
  for (std::size_t i = 0; i < open_.size(); ++i) {
    std::copy_n(from, each, seconds_[i].begin());
    from += static_cast<std::ptrdiff_t>(each);
  }
  charge(charged_, each);
  if (rounds_ == 1) {
    after_warming();
    return;
  }
  charged_ = each;
  std::size_t leader = 0;
  for (std::size_t i = 1; i < open_.size(); ++i)
    if (median(seconds_[i]) < median(seconds_[leader])) leader = i;
  const std::size_t baseline = this->baseline();
  const bool challenged = baseline != open_.size() && leader != baseline;
  if (final_ ? !challenged || each >= final_rounds || spent_ > 2 * much || beats_by_far(leader, baseline)
             : rounds_ >= most_rounds || spent_ > much) {
    const bool wins = !challenged || surely_beats(leader, baseline);
    if (wins && challenged && !final_ && spent_ <= much && !beats_by_far(leader, baseline)) {
      begin_final(leader, baseline);
      return;
    }
    keep([&](std::size_t i) { return i == (wins ? leader : baseline); });
  } else if (!final_) {
    const double usual = median(seconds_[leader]);
    const bool beaten = open_[0] == 0 && leader != 0 && beats_by_far(leader, 0);
    keep([&](std::size_t i) {
      if (open_[i] == 0 && !beaten) return true;
      const bool slower = least(seconds_[i]) > clearly * usual;
      return i == leader || !(slower || (each >= enough_rounds && median(seconds_[i]) > far * usual));
    });
  }
  const double winner = median(seconds_[0]);
  if (settled() && std::isfinite(winner) && winner > 0) price_ = std::max(0.0, spent_ / winner - made_);
}

}  // namespace stretto::select
