// Which of several ways is the fastest, found by letting calls take turns with them. The ranks begin each turn together and compare what
// they measured now and then, so what is concluded is the same on all of them.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::api {

// Turns go round. The first round warms up (memory, schedules, tables) and does not count; after the second that counts, and after each one
// from there on, the ranks compare: out goes whoever was even at best clearly slower than the leader usually is. The leader has the least
// median of the slowest rank's times; number 0, which the others must beat by more than scatter, leads where it is close. The last round,
// or a look after much time was spent, leaves the leader alone.
class Contest {
 public:
  explicit Contest(std::size_t contestants);  // at least one; 0 is the one to beat

  // Those that are still in, in their order; one: it is settled.
  const std::vector<std::size_t>& open() const noexcept { return open_; }
  bool settled() const noexcept { return open_.size() == 1; }

  // Whose turn it is; once settled, the winner.
  std::size_t turn() const noexcept { return open_[at_]; }

  // The turn took so long on this rank (infinity: it failed). True: exchange the maximum over all ranks of times(), and compare().
  bool took(double seconds) noexcept;
  std::vector<double> times() const;
  void compare(const std::vector<double>& slowest) noexcept;

  static constexpr std::size_t most_rounds = 6;  // with the first

 private:
  std::vector<std::size_t> open_;
  std::vector<std::vector<double>> seconds_;  // of those in `open_`, a round an entry
  std::size_t at_ = 0, rounds_ = 0;
};

}  // namespace stretto::api
