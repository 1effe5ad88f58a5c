// What a block holds, symbolically: whose contributions, as runs of consecutive ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::schedule {

class Contributions {
 public:
  Contributions() = default;
  explicit Contributions(std::int32_t rank) : runs_{{rank, rank}} {}
  static Contributions of_all(std::int32_t ranks);  // ranks >= 1

  // A rank whose contribution both hold, or -1.
  std::int32_t shared(const Contributions& other) const;

  // Whether these are consecutive ranks, and the other's the ones that follow.
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

}  // namespace stretto::schedule
