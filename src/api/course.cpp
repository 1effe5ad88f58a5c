#include "api/course.hpp"

#include <algorithm>

namespace stretto::api {

bool Course::took(double seconds) noexcept {
  ++calls_;
  return contest_.took(seconds);
}

void Course::compare(const std::vector<double>& slowest) noexcept {
  const bool was = contest_.settled();
  contest_.compare(slowest);
  if (was || !contest_.settled()) return;
  const bool same = looks_ > 0 && winner_ == contest_.turn();
  wait_ = same ? std::min(4 * wait_, longest_wait) : first_wait;
  winner_ = contest_.turn();
  left_ = calls_ * wait_;
}

void Course::ran() noexcept {
  if (left_ == 0 || --left_ > 0) return;
  contest_.look_again();
  calls_ = 0;
  ++looks_;
}

}  // namespace stretto::api
