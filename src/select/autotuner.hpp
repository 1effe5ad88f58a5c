// A trial: blocking calls of one shape take turns with a few candidates, and the fastest stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::select {

// A round has one turn for every candidate, in a new order, because a turn leaves its traces in caches and network
// buffers. A turn is one call, or several short calls in a row, as in a program. Ranks begin a turn together.
//
// The first round warms up. It shows how many calls make a turn, and how many rounds there is time for. After three
// more rounds the ranks compare medians of the slowest rank's times, and candidates far behind the leader drop out. Where
// rounds are so long that three are all, those that take twice the leader's time drop out after one. After the last round the lowest median wins. Candidate 0 is the baseline: it never drops out, and stays unless another beats
// it by the margin. One second look comes later, because the first may have been disturbed. Its winner stays for good.
//
// All ranks make the same calls and compare the same times, so they draw the same conclusions.
class Autotuner {
 public:
  // At least one candidate. Candidate 0 takes about `expected` seconds a call.
  explicit Autotuner(std::size_t candidates, double expected = 0);

  bool settled() const noexcept { return settled_; }

  // Whose turn it is; once settled, the winner. begins(): the next call is the first of its turn.
  std::size_t turn() const noexcept { return settled_ ? winner_ : order_[at_]; }
  bool begins() const noexcept { return call_ == 0; }

  // Whether the next call may be this candidate's.
  bool open(std::size_t candidate) const noexcept { return settled_ ? candidate == winner_ : in_[candidate]; }

  // A call of the turn took so long on this rank (infinity: it failed). Returns true when the ranks must exchange the
  // maximum of times() and call compare().
  bool took(double seconds) noexcept;
  std::vector<double> times() const;
  void compare(const std::vector<double>& slowest) noexcept;

  // A call ran by the winner. The next call may belong to the second look.
  void ran() noexcept {
    if (until_second_ != 0 && --until_second_ == 0) begin();
  }
  // The looks begun. Who kept the winner must ask again when the number has grown.
  std::uint32_t looks() const noexcept { return looks_; }

  static constexpr std::size_t most_rounds = 8, least_rounds = 3, most_calls = 4;  // after the first; of a turn
  static constexpr double margin = 0.1;                                            // of the baseline's time
  static constexpr std::uint64_t second_after = 64;                                // times the calls of the first look

 private:
  void begin() noexcept;
  void shuffle() noexcept;
  void warmed_up() noexcept;
  std::size_t leader() const noexcept;
  void drop_out() noexcept;
  void settle() noexcept;

  std::vector<std::vector<double>> seconds_;  // a call, of each candidate, a round an entry
  std::vector<std::size_t> calls_;            // of a turn, of each candidate
  std::vector<char> in_;                      // which candidates take turns
  std::vector<std::size_t> order_;            // of this round
  std::size_t warming_calls_, rounds_ = 0;    // of a turn of the first round; of this look after the first, 0 in it
  std::size_t round_ = 0, at_ = 0, call_ = 0, winner_ = 0;
  double sum_ = 0;  // seconds of the turn
  bool settled_ = false;
  std::uint64_t made_ = 0, until_second_ = 0;  // calls of this look; until the second look
  std::uint32_t looks_ = 0;
};

}  // namespace stretto::select
