// What the ranks tell each other before a collective moves data, and what follows from it.
//
// A signature is a flat record of words that combines associatively and commutatively, rank by rank, in one small
// allreduce. It holds the arguments on which ranks must agree, each as the smallest and the largest value seen with a rank
// that gave it; the first failure found by any rank in its own arguments; the range of the values; the number of
// contributions; and how well samples of the values compress. Pure data: no communication here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "codec/codec.hpp"

namespace stretto::call {

// Arguments that must be the same on all ranks, in the order in which a difference is reported.
enum class Field : std::uint8_t {
  collective,
  type,
  op,
  commutes,
  count,
  counts,
  root,
  bound_kind,
  bound,
  scope,
  ignore_above,
  schedule,
  payload,
  segment,
  reproducible
};
inline constexpr int fields = 15;

// In the value of Field::collective: it was started as a request. An MPI's blocking and nonblocking collectives do not meet.
inline constexpr std::uint64_t nonblocking_form = 0x100;

// An argument as all ranks gave it.
struct Span {
  std::uint64_t lo = 0, hi = 0;
  std::uint32_t lo_rank = 0, hi_rank = 0;
};

struct Signature {
  std::array<Span, fields> span{};
  std::uint32_t status = 0;  // of the lowest rank that failed; 0: none did
  std::uint32_t failed_rank = 0;
  std::array<char, 112> text{};  // its message, zero-terminated; where it was cut to fit, it ends in an ellipsis
  codec::Ranges values;          // of the finite values: all, and those of a relative bound
  std::uint64_t contributions = 0;
  // Of counts by pair: 0 when what is sent is what is expected (each pair has a weight of its own); by how much more is sent than is
  // expected; what the busiest rank sends or receives.
  std::uint64_t balance = 0, surplus = 0, largest = 0;
  std::uint64_t samples = 0, shrunk = 0;  // ranks that took one, and the sum of what was left of them, of 2^16 each

  void set(Field f, std::uint64_t value, int rank) noexcept;
  void set(Field f, double value, int rank) noexcept;  // orders as the numbers do, NaN included
  void add_sample(double ratio) noexcept;
  double ratio() const noexcept;  // of all samples together; 0: there are none
  // Of an exchange with a count for each pair of ranks: what this rank sends to each, and what it expects from each.
  void add_pairs(const std::vector<std::size_t>& sends, const std::vector<std::size_t>& expects, int rank) noexcept;
  void set_failure(Status s, const char* message, int rank) noexcept;
};

inline constexpr std::size_t signature_words = sizeof(Signature) / sizeof(std::uint64_t);
static_assert(sizeof(Signature) == 568);  // whole words; docs/architecture.md tells it

// What is the same on all ranks whose arguments are, and never 0.
std::uint64_t digest(const Signature& s) noexcept;

// into = into (+) from.
void merge(const Signature& from, Signature& into) noexcept;

// What every rank concludes from the merged signature: ok, the failure of some rank, or `incompatible` naming each argument
// that differs with two of its values and a rank for each. Leaves the message of this thread; a failure that is this rank's
// own too, by its signature `own`, is told by its own `message`, in full.
Status verdict(const Signature& merged, const Signature& own, const char* message) noexcept;

// Whether every pair of ranks agrees on its count; else `incompatible`, naming the pair where it is one alone, and both counts on
// the ranks of that pair.
Status pairs_agree(const Signature& merged, const std::vector<std::size_t>& sends,
                   const std::vector<std::size_t>& expects, int rank) noexcept;

// The value of a double as a field that orders like the doubles do, and back.
std::uint64_t ordered(double value) noexcept;
double from_ordered(std::uint64_t bits) noexcept;

}  // namespace stretto::call
