#include "mpi/report/timeline.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::mpi {

Timeline Timeline::empty(double stretch) noexcept {
  Timeline made;
  if (std::isfinite(stretch)) made.stretch_ = std::max(stretch, kShortest);
  return made;
}

void Timeline::put(std::size_t place, std::uint64_t calls, double seconds) noexcept {
  if (place >= kMost) return;
  calls_[place] += calls;
  seconds_[place] += seconds;
}

void Timeline::halve() noexcept {
  stretch_ *= 2;
  for (std::size_t i = 0; i < kMost; ++i) {
    const bool one = i < kMost / 2;
    calls_[i] = one ? calls_[2 * i] + calls_[2 * i + 1] : 0;
    seconds_[i] = one ? seconds_[2 * i] + seconds_[2 * i + 1] : 0;
  }
}

void Timeline::lengthen(double stretch) noexcept {
  while (stretch_ < stretch) halve();
}

void Timeline::add(double end, double seconds, std::uint64_t calls) noexcept {
  end = std::max(end, 0.0);
  while (end >= stretch_ * static_cast<double>(kMost)) halve();
  const auto last = std::min(static_cast<std::size_t>(end / stretch_), kMost - 1);
  calls_[last] += calls;
  double begin = std::max(end - seconds, 0.0);
  auto i = static_cast<std::size_t>(begin / stretch_);
  for (; i < last; ++i) {
    const double next = stretch_ * static_cast<double>(i + 1);
    seconds_[i] += next - begin;
    begin = next;
  }
  seconds_[last] += end - begin;
}

void Timeline::add(const Timeline& other) noexcept {
  Timeline theirs = other;
  theirs.lengthen(stretch_);
  lengthen(theirs.stretch_);
  for (std::size_t i = 0; i < kMost; ++i) put(i, theirs.calls_[i], theirs.seconds_[i]);
}

}  // namespace stretto::mpi
