#include "costs/exchange.hpp"

#include <algorithm>

namespace stretto::measure {
namespace {

constexpr int kDataTag = 1, kReady = 2, kCount = 3;  // tags
constexpr std::size_t kLine = 8;                     // words of a cache line
constexpr double kSample = 10e-6;  // least seconds of a sample of reused buffers: many times the clock's resolution

std::size_t words(std::size_t bytes) { return (bytes + 7) / 8; }

// Words from one buffer to the next: whole lines.
std::size_t stride(std::size_t bytes) { return std::max(kLine, (words(bytes) + kLine - 1) / kLine * kLine); }

volatile std::uint64_t sink;

}  // namespace

const char* name(Buffers buffers) noexcept {
  switch (buffers) {
    case Buffers::reused: return "reused";
    case Buffers::rotated: return "rotated";
  }
  return "?";
}

PingPong::PingPong(const World& world, int peer, bool first, std::size_t largest, std::size_t cache)
    : world_(world), peer_(peer), first_(first), clock_cost_(clock_cost()) {
  const std::size_t size = std::max({2 * stride(largest), words(cache), kLine});
  out_.assign(size, 1);
  in_.assign(size, 0);
}

void PingPong::advance(std::size_t bytes) {
  at_ += stride(bytes);
  if (at_ + stride(bytes) > out_.size()) at_ = 0;
}

void PingPong::rewrite(std::size_t bytes) {
  ++value_;
  std::fill_n(out_.begin() + static_cast<std::ptrdiff_t>(at_), words(bytes), value_);
}

void PingPong::read(std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words(bytes); i += kLine) sum += in_[at_ + i];
  sink = sum;
}

void PingPong::meet() {
  if (first_) {
    world_.receive(peer_, kReady, nullptr, 0);
  } else {
    world_.send(peer_, kReady, nullptr, 0);
  }
}

double PingPong::reused(std::size_t bytes, int iterations) {
  const double start = now();
  for (int i = 0; i < iterations; ++i) {
    if (first_) {
      world_.send(peer_, kDataTag, out_.data(), bytes);
      world_.receive(peer_, kDataTag, in_.data(), bytes);
    } else {
      world_.receive(peer_, kDataTag, in_.data(), bytes);
      world_.send(peer_, kDataTag, out_.data(), bytes);
    }
  }
  return now() - start - clock_cost_;
}

double PingPong::iterate(std::size_t bytes, Buffers buffers) {
  if (buffers == Buffers::reused) return reused(bytes, 1);
  advance(bytes);
  rewrite(bytes);
  meet();
  double seconds = 0;
  if (first_) {
    const double start = now();
    world_.send(peer_, kDataTag, &out_[at_], bytes);
    world_.receive(peer_, kDataTag, &in_[at_], bytes);
    seconds = now() - start - clock_cost_;
  } else {
    world_.receive(peer_, kDataTag, &in_[at_], bytes);
    world_.send(peer_, kDataTag, &out_[at_], bytes);
  }
  read(bytes);
  return seconds;
}

double PingPong::cross(std::size_t bytes) {
  advance(bytes);
  rewrite(bytes);
  meet();
  const double start = now();
  world_.shift(peer_, &out_[at_], peer_, &in_[at_], bytes, kDataTag);
  const double seconds = now() - start - clock_cost_;
  read(bytes);
  return seconds;
}

double PingPong::send_in_a_row(std::size_t bytes, int count, bool each_way) {
  advance(bytes);
  rewrite(bytes);
  meet();
  const double start = now();
  for (int i = 0; i < count; ++i) {
    if (each_way) {
      world_.shift(peer_, &out_[at_], peer_, &in_[at_], bytes, kDataTag);
    } else if (first_) {
      world_.send(peer_, kDataTag, &out_[at_], bytes);
    } else {
      world_.receive(peer_, kDataTag, &in_[at_], bytes);
    }
  }
  meet();  // all have arrived
  return (now() - start - clock_cost_) / count;
}

// Both ranks run `once` unmeasured a few times, then as often as the first rank's budget allows.
template <class Once>
Timing PingPong::repeat(const Budget& budget, const Once& once) {
  once();
  const double start = now();
  once();
  int count = budget.samples(now() - start);
  if (first_) {
    world_.send(peer_, kCount, &count, sizeof count);
  } else {
    world_.receive(peer_, kCount, &count, sizeof count);
  }
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) samples.push_back(std::max(0.0, once()));
  return first_ ? summary(samples) : Timing{};
}

Timing PingPong::measure(std::size_t bytes, Buffers buffers, const Budget& budget) {
  for (int i = 0; i < 3; ++i) iterate(bytes, buffers);
  if (buffers == Buffers::rotated) return repeat(budget, [&] { return iterate(bytes, buffers) / 2; });

  // Short messages are timed in batches.
  const double start = now();
  for (int i = 0; i < 3; ++i) iterate(bytes, buffers);
  int batch = static_cast<int>(std::clamp(3 * kSample / std::max(now() - start, 1e-9), 1.0, 256.0));
  if (first_) {
    world_.send(peer_, kCount, &batch, sizeof batch);
  } else {
    world_.receive(peer_, kCount, &batch, sizeof batch);
  }
  return repeat(budget, [&] { return reused(bytes, batch) / (2.0 * batch); });
}

Timing PingPong::both_ways(std::size_t bytes, const Budget& budget) {
  return repeat(budget, [&] { return cross(bytes); });
}

Timing PingPong::stream(std::size_t bytes, int count, bool each_way, const Budget& budget) {
  return repeat(budget, [&] { return send_in_a_row(bytes, count, each_way); });
}

}  // namespace stretto::measure
