// The data that ranks exchange before a collective moves data, and the conclusion that they draw from it.
//
// A signature is a flat record of words. Signatures of all ranks are merged in one small allreduce; merging is
// associative and commutative. A signature holds:
//
// - the arguments on which ranks must agree, each as the smallest and the largest value with a rank that gave it;
// - the first failure that any rank found in its own arguments;
// - the range of the values, the number of contributions, and how well samples of the values compress.
//
// Pure data: no communication here.
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
  raw_below,
  reproducible,
  coding
};
inline constexpr int fields = 17;

// Added to the value of Field::collective when the call was started as a request. An MPI's blocking and nonblocking
// collectives do not match.
inline constexpr std::uint64_t nonblocking_form = 0x100;

// An argument as all ranks gave it.
struct Span {
  std::uint64_t lo = 0, hi = 0;
  std::uint32_t lo_rank = 0, hi_rank = 0;
};

// By how much a vector shrinks in fixed and in dense streams. 0: not known.
struct Shrinks {
  double fixed = 0, dense = 0;
  friend bool operator==(const Shrinks&, const Shrinks&) = default;
};

struct Signature {
  std::array<Span, fields> span{};
  std::uint32_t status = 0;  // of the lowest rank that failed; 0: none did
  std::uint32_t failed_rank = 0;
  std::array<char, 112> text{};  // its message, zero-terminated; where it was cut to fit, it ends in an ellipsis
  codec::Ranges values;          // of the finite values: all, and those of a relative bound
  std::uint64_t contributions = 0;
  // For counts by pair. balance: 0 when all pairs match (each pair has a weight of its own). surplus: elements sent
  // beyond those expected. largest: elements that the busiest rank sends or receives.
  std::uint64_t balance = 0, surplus = 0, largest = 0;
  std::uint32_t devices = 0;   // ranks whose buffers are in the memory of a device
  std::uint32_t captured = 0;  // ranks whose stream is captured in a graph
  // Ranks that took a sample, and the sums of the shares, in 2^-16, that are left of it in fixed and in dense streams.
  std::uint64_t samples = 0, shrunk = 0, shrunk_dense = 0;

  void set(Field f, std::uint64_t value, int rank) noexcept;
  void set(Field f, double value, int rank) noexcept;  // orders as the numbers do, NaN included
  void add_sample(const Shrinks& ratios) noexcept;
  Shrinks ratios() const noexcept;  // of all samples together; 0: there are none
  // For counts by pair: the count that this rank sends to each rank, and the count that it expects from each.
  void add_pairs(const std::vector<std::size_t>& sends, const std::vector<std::size_t>& expects, int rank) noexcept;
  void set_failure(Status s, const char* message, int rank) noexcept;
};

inline constexpr std::size_t signature_words = sizeof(Signature) / sizeof(std::uint64_t);
static_assert(sizeof(Signature) == 632);  // whole words; docs/architecture.md tells it

// A hash of the arguments, equal on all ranks whose arguments are equal, and never 0.
std::uint64_t digest(const Signature& s) noexcept;

// into = into (+) from.
void merge(const Signature& from, Signature& into) noexcept;

// The conclusion of every rank from the merged signature: ok, the failure of some rank, or `incompatible`, naming each
// argument that differs with two of its values and a rank for each. Sets this thread's message. If the failure is also
// this rank's own (by its signature `own`), the message is its own `message`, uncut.
Status verdict(const Signature& merged, const Signature& own, const char* message) noexcept;

// True if all ranks make the same call with valid arguments, apart from bounds, schedules and payloads, so that it could run
// exactly.
bool is_alike_but_for_the_way(const Signature& merged) noexcept;

// Checks that every pair of ranks agrees on its count, else `incompatible`. The message names the pair if only one differs;
// on the ranks of that pair it has both counts.
Status pairs_agree(const Signature& merged, const std::vector<std::size_t>& sends,
                   const std::vector<std::size_t>& expects, int rank) noexcept;

// A double as an integer that orders as doubles do, and back.
std::uint64_t ordered(double value) noexcept;
double from_ordered(std::uint64_t bits) noexcept;

}  // namespace stretto::call
