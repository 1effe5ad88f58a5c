// Finds the fastest of several contestants: calls take turns with them. The ranks begin each turn together, and after
// some rounds they compare what they measured. So all ranks draw the same conclusions.
#pragma once

#include <cstddef>
#include <vector>

namespace stretto::select {

// A turn is one call, or several short calls in a row. In a row calls may run ahead of each other, as in a program, and
// a disturbed call counts less. Each round has one turn for every open contestant, in a new order, because a turn
// leaves its traces in caches and network buffers.
//
// The first round warms up memory, schedules and tables; it only shows how many calls make a turn of each contestant.
// After the second round that counts, and each later one, the ranks compare. The leader has the lowest median of the
// slowest rank's times. A contestant is dropped if its best time is clearly slower than the leader's median, or its
// median far slower. Number 0 stays unless the leader beats it by far.
//
// Contestants 0 to alike-1 share a provider, and none is riskier than another. The fastest of them, with a margin, is
// the baseline. After the last round, or when much time is spent, the leader wins if it beats the baseline by a margin
// and in nearly all rounds; otherwise the baseline wins. A narrow win is replayed: leader and baseline alone play a
// final of new rounds, under the same rule. look_again() restarts a settled trial with the winner, the contestants
// that are alike, and those that lost last.
class Autotuner {
 public:
  // At least one contestant. Number 0 is the one to beat, and takes about `expected` seconds a call. The first `alike`
  // share a provider.
  explicit Autotuner(std::size_t contestants, double expected = 0, std::size_t alike = 1);

  // Contestants that are still in, in their order. When one is left, the trial is settled.
  const std::vector<std::size_t>& open() const noexcept { return open_; }
  bool settled() const noexcept { return open_.size() == 1; }

  // Whose turn it is; once settled, the winner. The next call is the first of its turn.
  std::size_t turn() const noexcept { return open_[settled() ? 0 : order_[at_]]; }
  bool begins() const noexcept { return call_ == 0; }

  // A call of the turn took so long on this rank (infinity: it failed). Returns true when the ranks must exchange the
  // maximum of times() and call compare().
  bool took(double seconds) noexcept;
  std::vector<double> times() const;
  void compare(const std::vector<double>& slowest) noexcept;

  void look_again() noexcept;  // where it is settled

  // Once settled: the cost of this look, the first round included, beyond that of as many calls by the winner. In calls
  // of the winner.
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
