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
  static Contributions of_first(std::int32_t ranks);

  // -1: none
  std::int32_t shared(const Contributions& other) const;

  // These ranks are consecutive, directly followed by `other`.
  bool precedes(const Contributions& other) const;

  // No shared rank.
  void add(const Contributions& other);

  std::string text() const;

  friend bool operator==(const Contributions&, const Contributions&) = default;

 private:
  struct Run {
    std::int32_t first;
    std::int32_t last;
    friend bool operator==(const Run&, const Run&) = default;
  };
  std::vector<Run> runs_;
};

// Sums have equal numbers exactly if they are bracketed alike, up to the order of operands.
class Brackets {
 public:
  using Sum = std::uint32_t;

  explicit Brackets(std::int32_t ranks) : ranks_(static_cast<Sum>(ranks)) {}
  Sum contribution(std::int32_t rank) const { return static_cast<Sum>(rank); }
  Sum combined(Sum a, Sum b);

  // "(0 + 1) + 2"; cut after `most` characters.
  std::string text(Sum sum, std::size_t most = 60) const;

 private:
  void write(Sum sum, bool outermost, std::size_t most, std::string* text) const;

  Sum ranks_;  // numbers below are contributions
  std::vector<std::pair<Sum, Sum>> operands_;
  std::unordered_map<std::uint64_t, Sum> known_;
};

}  // namespace stretto::schedule
