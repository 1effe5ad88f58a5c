#include "select/retune.hpp"

#include <algorithm>

#include "base/float_environment.hpp"

namespace stretto::select {
namespace {

constexpr double worth = 0.02;  // of the time until the next look, what one may cost

}  // namespace

bool Retuner::took(double seconds) noexcept {
  ++calls_;
  return autotuner_.took(seconds);
}

void Retuner::compare(const std::vector<double>& slowest) noexcept {
  const FloatEnvironment environment;
  const bool was = autotuner_.settled();
  autotuner_.compare(slowest);
  if (was || !autotuner_.settled()) return;
  const bool same = looks_ > 0 && winner_ == autotuner_.turn();
  wait_ = same ? std::min(4 * wait_, longest_wait) : first_wait;
  winner_ = autotuner_.turn();
  const double affordable = std::min(autotuner_.price() / worth, 1e15);
  left_ = std::max(calls_ * wait_, static_cast<std::uint64_t>(affordable));
}

void Retuner::look_again() noexcept {
  autotuner_.look_again();
  calls_ = 0;
  ++looks_;
}

}  // namespace stretto::select
