#include "api/course.hpp"

#include <algorithm>

#include "base/float_environment.hpp"

namespace stretto::api {
namespace {

constexpr double worth = 0.02;  // of the time until the next look, what one may cost

}  // namespace

bool Course::took(double seconds) noexcept {
  ++calls_;
  return contest_.took(seconds);
}

void Course::compare(const std::vector<double>& slowest) noexcept {
  const FloatEnvironment environment;
  const bool was = contest_.settled();
  contest_.compare(slowest);
  if (was || !contest_.settled()) return;
  const bool same = looks_ > 0 && winner_ == contest_.turn();
  wait_ = same ? std::min(4 * wait_, longest_wait) : first_wait;
  winner_ = contest_.turn();
  const double affordable = std::min(contest_.price() / worth, 1e15);
  left_ = std::max(calls_ * wait_, static_cast<std::uint64_t>(affordable));
}

void Course::look_again() noexcept {
  contest_.look_again();
  calls_ = 0;
  ++looks_;
}

}  // namespace stretto::api
