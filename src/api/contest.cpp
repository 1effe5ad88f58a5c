#include "api/contest.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace stretto::api {
namespace {

constexpr std::size_t warm_rounds = 1, first_look = 3;
constexpr double clearly = 1.1;  // slower than that many times the leader's median
constexpr double close = 1.05;   // a lead over number 0 that may be chance
constexpr double much = 1.0;     // seconds of all counted turns together

// Of few values; the upper one of the middle two, so that one lucky turn of two says nothing.
double median(const std::vector<double>& of) noexcept {
  std::array<double, Contest::most_rounds> v{};
  const auto end = v.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), v.size()));
  std::copy_n(of.begin(), end - v.begin(), v.begin());
  const auto middle = v.begin() + (end - v.begin()) / 2;
  std::nth_element(v.begin(), middle, end);
  return *middle;
}

}  // namespace

Contest::Contest(std::size_t contestants) : open_(contestants), seconds_(contestants) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
  for (auto& s : seconds_) s.reserve(most_rounds);
}

bool Contest::took(double seconds) noexcept {
  if (settled()) return false;
  if (rounds_ >= warm_rounds) seconds_[at_].push_back(seconds);  // within what was reserved
  if (++at_ < open_.size()) return false;
  at_ = 0;
  return ++rounds_ >= first_look;
}

std::vector<double> Contest::times() const {
  std::vector<double> all;
  for (const auto& s : seconds_) all.insert(all.end(), s.begin(), s.end());
  return all;
}

void Contest::compare(const std::vector<double>& slowest) noexcept {
  const std::size_t each = rounds_ - warm_rounds;
  if (settled() || slowest.size() != each * open_.size()) return;
  auto from = slowest.begin();
  for (auto& s : seconds_) {
    std::copy_n(from, each, s.begin());
    from += static_cast<std::ptrdiff_t>(each);
  }
  std::size_t leader = 0;
  for (std::size_t i = 1; i < open_.size(); ++i)
    if (median(seconds_[i]) < median(seconds_[leader])) leader = i;
  if (open_[0] == 0 && median(seconds_[0]) <= close * median(seconds_[leader])) leader = 0;
  const double usual = median(seconds_[leader]);
  const bool last = rounds_ >= most_rounds || std::accumulate(slowest.begin(), slowest.end(), 0.0) > much;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const double best = *std::min_element(seconds_[i].begin(), seconds_[i].end());
    if (i != leader && (last || best > clearly * usual)) continue;
    if (kept != i) {
      open_[kept] = open_[i];
      seconds_[kept].swap(seconds_[i]);
    }
    ++kept;
  }
  open_.resize(kept);
  seconds_.resize(kept);
}

}  // namespace stretto::api
