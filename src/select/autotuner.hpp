// Which of several ways is the fastest, found by letting calls take turns with them. The ranks begin each turn together and compare what
// they measured now and then, so what is concluded is the same on all of them.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::select {

// A turn is one call, or several short ones in a row, as a program makes them: they may run ahead of each other then, and one that was
// disturbed counts less. Turns go round, in another order each round: what ran before leaves caches and buffers of a network as it likes.
// The first round warms up (memory, schedules, tables): it only shows how many calls make a turn of each. Then, from the second
// that counts on, the ranks compare after each round: out goes whoever was even at best clearly slower than the leader usually is, or usually
// far slower. The leader has the least median of the slowest rank's times. Number 0 stays in unless it is beaten by far. The first few, with number
// 0, may be alike: ways of the same provider, of which each is as safe as the other. Of those the best by a margin is baseline. The last round, or a look
// after much time was spent, leaves one: baseline where the leader does not beat it by more than scatter and nearly always. Where he does, but not
// by far, the two play a final of new rounds, which decides by the same rule. A second look at a contest that is settled
// begins anew with those that are alike, the winner and those that lost last.
class Autotuner {
 public:
  // At least one contestant; 0 is the one to beat, and takes about `expected` seconds a call. The first `alike` are alike.
  explicit Autotuner(std::size_t contestants, double expected = 0, std::size_t alike = 1);

  // Those that are still in, in their order; one: it is settled.
  const std::vector<std::size_t>& open() const noexcept { return open_; }
  bool settled() const noexcept { return open_.size() == 1; }

  // Whose turn it is; once settled, the winner. The next call is the first of its turn.
  std::size_t turn() const noexcept { return open_[settled() ? 0 : order_[at_]]; }
  bool begins() const noexcept { return call_ == 0; }

  // A call of the turn took so long on this rank (infinity: it failed). True: exchange the maximum over all ranks of times(), and compare().
  bool took(double seconds) noexcept;
  std::vector<double> times() const;
  void compare(const std::vector<double>& slowest) noexcept;

  void look_again() noexcept;  // where it is settled

  // Once settled: how many calls of the winner this look took more than as many calls by the winner would have, with the first round.
  double price() const noexcept { return price_; }

  static constexpr std::size_t most_rounds = 9, most_calls = 8;  // with the first; of a turn

 private:
  void shuffle() noexcept;
  void begin() noexcept;
  void after_warming() noexcept;
  void begin_final(std::size_t leader, std::size_t baseline) noexcept;
  void charge(std::size_t from, std::size_t to) noexcept;
  std::size_t baseline() const noexcept;
  bool surely_beats(std::size_t i, std::size_t other) const noexcept;
  bool beats_by_far(std::size_t i, std::size_t other) const noexcept;
  template <class Stays>
  void keep(const Stays& stays) noexcept;

  std::size_t alike_;
  std::vector<std::size_t> open_;
  std::vector<std::size_t> lost_;             // who is out, in the order in which they went
  std::vector<std::vector<double>> seconds_;  // a call, of those in `open_` and then of nobody, a round an entry
  std::vector<std::size_t> order_;            // of this round, by place in `open_`
  std::vector<std::size_t> calls_;            // that make a turn, of those in `open_`
  std::size_t at_ = 0, rounds_ = 0, charged_ = 0;
  std::size_t call_ = 0, warming_calls_;  // of the turn; that make one in the first round
  bool final_ = false;
  double sum_ = 0;                           // of the turn
  double spent_ = 0, made_ = 0, price_ = 0;  // seconds and calls of this look, as far as they were compared
};

}  // namespace stretto::select
