// One small allreduce merges these words over all ranks before a collective; merging is associative and commutative.
// They hold arguments on which ranks must agree, with the ranks of the smallest and the largest value; a rank's first
// failure; the range of values, the number of contributions, and sampled ratios.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "codec/codec.hpp"

namespace stretto::call {

enum class Field : std::uint8_t {
  unchecked,  // calls without an agreement before this one; 0 where lines in memory compare calls
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
  raw_below,
  reproducible,
  coding
};
inline constexpr int kFields = 18;

// In Field::collective: an MPI's blocking and nonblocking collectives do not match.
inline constexpr std::uint64_t kNonblockingForm = 0x100;

struct Span {
  std::uint64_t lo = 0, hi = 0;
  std::uint32_t lo_rank = 0, hi_rank = 0;
};

// Ratios of fixed and dense streams. 0: unknown.
struct Shrinks {
  double fixed = 0, dense = 0;
  friend bool operator==(const Shrinks&, const Shrinks&) = default;
};

struct Signature {
  std::array<Span, kFields> span{};
  std::uint32_t status = 0;
  std::uint32_t failed_rank = 0;
  std::array<char, 112> text{};
  codec::Ranges values;  // finite: all, and those of a relative bound
  std::uint64_t contributions = 0;
  // Counts by pair. balance: 0 if all match. surplus: elements sent beyond those expected. largest: the busiest rank's.
  std::uint64_t balance = 0, surplus = 0, largest = 0;
  std::uint32_t devices = 0;
  std::uint32_t captured = 0;  // ranks with a stream in a graph
  // Samples, and the sums of their compressed shares, in 2^-16.
  std::uint64_t samples = 0, shrunk = 0, shrunk_dense = 0;
  // Nanoseconds of an earlier call like this (select::CodingTrials), the most of all ranks; 0: some rank has none.
  std::uint64_t took = 0;

  void set(Field f, std::uint64_t value, int rank) noexcept;
  void set(Field f, double value, int rank) noexcept;  // in the order of doubles, NaN included
  void add_sample(const Shrinks& ratios) noexcept;
  Shrinks ratios() const noexcept;  // 0: no samples
  void add_pairs(const std::vector<std::size_t>& sends, const std::vector<std::size_t>& expects, int rank) noexcept;
  void set_failure(Status s, const char* message, int rank) noexcept;
};

inline constexpr std::size_t kSignatureWords = sizeof(Signature) / sizeof(std::uint64_t);
static_assert(sizeof(Signature) == 664);  // whole words; docs/architecture.md

// Covers the arguments, but for Field::unchecked. Never 0.
std::uint64_t digest(const Signature& s) noexcept;

void merge(const Signature& from, Signature& into) noexcept;

// Equal on every rank: ok, some rank's failure, or `incompatible` with each differing argument, two values, and a rank
// for each. Sets this thread's message, uncut if the failure is its own.
Status verdict(const Signature& merged, const Signature& own, const char* message) noexcept;

// Ranks disagree about whether an earlier call was checked: they are at different calls, whose data would meet.
bool is_out_of_step(const Signature& merged) noexcept;

// Valid calls differ at most in bounds, schedules and payloads: they could run exactly.
bool is_alike_but_for_the_way(const Signature& merged) noexcept;

// Names the pair if only one differs, with both counts.
Status pairs_agree(const Signature& merged, const std::vector<std::size_t>& sends,
                   const std::vector<std::size_t>& expects, int rank) noexcept;

// Integers in the order of doubles.
std::uint64_t ordered(double value) noexcept;
double from_ordered(std::uint64_t bits) noexcept;

}  // namespace stretto::call
