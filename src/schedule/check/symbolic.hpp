// The symbolic value of a block: the ranks whose contributions it holds, as runs of consecutive ranks, and the brackets of their sum.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stretto::schedule {

class Contributions {
 public:
  Contributions() = default;
  explicit Contributions(std::int32_t rank) : runs_{{rank, rank}} {}
  static Contributions of_all(std::int32_t ranks);  // ranks >= 1

  // A rank whose contribution both hold, or -1.
  std::int32_t shared(const Contributions& other) const;

  // True if these are consecutive ranks, and those of `other` follow them.
  bool precedes(const Contributions& other) const;

  // Adds the other's, none of which may be shared.
  void add(const Contributions& other);

  std::string text() const;  // "0-3, 7"; "none"

  friend bool operator==(const Contributions&, const Contributions&) = default;

 private:
  struct Run {
    std::int32_t first;
    std::int32_t last;
    friend bool operator==(const Run&, const Run&) = default;
  };
  std::vector<Run> runs_;  // ascending, with gaps between them
};

// Sums in their brackets, each distinct one stored once: two sums are bracketed alike, up to the order of the operands of each
// combination, exactly when their numbers are equal. One entry for each distinct combination, however often it is used.
class Brackets {
 public:
  using Sum = std::uint32_t;

  explicit Brackets(std::int32_t ranks) : ranks_(static_cast<Sum>(ranks)) {}
  Sum contribution(std::int32_t rank) const { return static_cast<Sum>(rank); }
  Sum combined(Sum a, Sum b);

  // "(0 + 1) + 2"; where it has more than `most` characters, its beginning and "...".
  std::string text(Sum sum, std::size_t most = 60) const;

 private:
  void write(Sum sum, bool outermost, std::size_t most, std::string* text) const;

  Sum ranks_;  // numbers below are contributions
  std::vector<std::pair<Sum, Sum>> operands_;
  std::unordered_map<std::uint64_t, Sum> known_;
};

}  // namespace stretto::schedule
