// What a block is while it travels, and how two meet.
//
//   raw          the values themselves.
//   cprp2p       compressed for every hop: each sender compresses what it sends, each receiver decodes it at once.
//   doc          data movement: compressed once by its source, forwarded as it is, decoded at the end. Reductions:
//                decompress, operate, compress.
//   homomorphic  every contribution is compressed first; blocks meet as stream + stream.
//   fused        blocks meet as stream + raw local values in one pass; a contribution is compressed on its own only where
//                it must be sent before anything met it. Min and max have no such pass and run as homomorphic.
//
// Results. Under every payload but raw, all ranks that hold a block at the end of allreduce or allgather hold the same bytes:
// the decoding of one stream, also on the rank that computed it (and with one rank). Homomorphic and fused sums are the same
// bytes for every schedule, number of segments and order. Broadcast leaves the root its exact data; scatter, gather and
// alltoall leave a rank's block to itself exact; reduce and reduce_scatter under doc and cprp2p end with the raw sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"

namespace stretto::payload {

enum class Kind : std::uint8_t { raw, cprp2p, doc, homomorphic, fused };

const char* name(Kind k) noexcept;
bool find(const char* text, Kind* kind) noexcept;  // by name; false when there is none

// What travels and how it is combined. Every rank gives the same.
struct Spec {
  Kind kind = Kind::raw;
  Type type = Type::f32;
  Op op = Op::sum;        // reductions only
  double eps = 0;         // absolute bound for each contribution; ignored by raw and by integers (lossless)
  UserFunction user{};    // op == user
  bool checksum = false;  // streams carry and verify a CRC-32C
  double magnitude = 0;   // largest |value| of any contribution, if known (codec::Options); the same on every rank
};

// Checks a spec before anything moves: the operation on the type (when `reduces`), a bound that is finite and positive.
Status check(const Spec& spec, bool reduces) noexcept;

// |result - exact result| <= error_factor * eps, in exact arithmetic but for the final rounding (and, under doc and cprp2p,
// the rounding of each raw sum). 0 for raw and for integers.
//   data movement                   1
//   homomorphic, fused: sum         p;  mean 1;  min, max 1
//   doc, cprp2p: sum                2p - 1 (two operands of each of p - 1 meetings, and the result);  mean (2p - 1)/p
double error_factor(const Spec& spec, bool reduces, int ranks) noexcept;

}  // namespace stretto::payload
