#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"
#include "codec/codec.hpp"

namespace stretto::call {

inline bool in_place(const void* p) noexcept { return p == STRETTO_IN_PLACE; }

struct Extent {
  std::size_t send = 0, recv = 0;
  bool sends = true, receives = true;
  bool send_in_place = false, recv_in_place = false;
};
Extent extent(const Call& call, int rank, int ranks) noexcept;

// Elements of each buffer up to the last that this rank accesses.
void find_ends(const Call& call, int rank, int ranks, std::size_t* send, std::size_t* recv) noexcept;

struct Piece {
  const void* first = nullptr;
  std::size_t count = 0;
};
bool input_piece(const Call& call, int rank, int ranks, std::size_t i, Piece* piece) noexcept;

// Equal on every rank once counts are known; by pair the busiest rank's.
std::size_t vector_bytes(const Call& call, int ranks) noexcept;

// Covers this rank's finite input, in one pass, or two if a value reaches ignore_above(). Arguments are checked, here
// and below. For counts_at_root() only the root needs counts.
Status input_values(const Call& call, int rank, int ranks, codec::Ranges* values) noexcept;

// Threshold of a relative bound; else infinite.
double ignore_above(const stretto_options& o) noexcept;

// Ratios within `eps` of a few groups spread over this rank's input. 0: unknown.
Shrinks sampled_ratios(const Call& call, int rank, int ranks, double eps) noexcept;

}  // namespace stretto::call
