// Interprets the buffers of a call: how much a rank sends and receives, where its input lies, its range, and how well
// it compresses.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"
#include "codec/codec.hpp"

namespace stretto::call {

inline bool in_place(const void* p) noexcept { return p == STRETTO_IN_PLACE; }

// Elements that a rank sends and receives.
struct Extent {
  std::size_t send = 0, recv = 0;
  bool sends = true, receives = true;  // whether the buffer matters on this rank
  bool send_in_place = false, recv_in_place = false;
};
Extent extent(const Call& call, int rank, int ranks) noexcept;

// Where the i-th piece of this rank's input lies; pieces are contiguous. False: there is no such piece.
struct Piece {
  const void* first = nullptr;
  std::size_t count = 0;
};
bool input_piece(const Call& call, int rank, int ranks, std::size_t i, Piece* piece) noexcept;

// Bytes of the whole vector, the same on every rank once all counts are known. Where each pair of ranks has a count:
// bytes that the busiest rank sends or receives.
std::size_t vector_bytes(const Call& call, int ranks) noexcept;

// Ranges of the finite values of this rank's input. One pass, or two where a value reaches ignore_above(). Precondition
// of this and of sampled_ratios(): the arguments are checked. For counts_at_root() collectives only the root needs
// counts.
Status input_values(const Call& call, int rank, int ranks, codec::Ranges* values) noexcept;

// Values of this magnitude and more are left out of the range of the bound; infinite where it is not relative.
double ignore_above(const stretto_options& o) noexcept;

// The compression ratios within `eps` of a few groups spread over this rank's input. 0: there is no input, or no answer.
Shrinks sampled_ratios(const Call& call, int rank, int ranks, double eps) noexcept;

}  // namespace stretto::call
