// A payload is a block's form on the wire, and the combination of two blocks.
//
//   raw          the values.
//   cprp2p       each sender compresses, each receiver decodes at once.
//   recompress   (DOC) compressed by the source, decoded at the end. Reductions: decompress, operate, compress.
//   homomorphic  every contribution is compressed first; blocks meet as stream + stream.
//   fused        blocks meet as stream + raw local values; a contribution is compressed only if it is sent before
//                anything met it. Min and max run as homomorphic.
//   bfloat16     float32 rounded to bfloat16 by the source (to nearest even), widened at the end. Reductions: widen,
//                operate in float32, round.
//
// A compressed block is a stream of the codec, or under bfloat16 its values in order, without a header.
//
// Mixed forms (Spec::nodes, Spec::raw_below). A raw message has the values that would have been compressed, and decoded
// values are forwarded, so results agree. A sum of streams that travels raw must stay raw to the end: compressing its
// decoded value could add an eps. Hierarchies, and trees of growing or shrinking blocks, keep this rule. Sums that met
// raw values depend on the schedule.
//
// Results. Under every payload but raw, all ranks that hold a block at the end of allreduce or allgather hold the same
// bytes: one stream, decoded, even on the rank that computed it (and with one rank). Homomorphic and fused sums do not
// depend on schedule, segments or order. Broadcast leaves the root its exact data; scatter, gather and alltoall leave a
// rank's block to itself exact; reduce and reduce_scatter under recompress, cprp2p and bfloat16 end with the raw sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"
#include "payload/kinds.hpp"

namespace stretto::payload {

// Also accepts "doc" for recompress.
bool find(const char* text, Kind* kind) noexcept;

// Fused sums on a device find codes of local values in the pass that adds them, by an own kernel when the stream is
// met, or before the first message (HomComp).
enum class Codes : std::uint8_t { in_passing, when_met, ahead };

struct Spec {
  Kind kind = Kind::raw;
  Type type = Type::f32;
  Op op = Op::sum;
  double eps = 0;  // absolute, per contribution; raw and integers are lossless
  UserFunction user{};
  bool checksum = false;  // streams carry and verify a CRC-32C
  Codes codes = Codes::in_passing;
  double magnitude = 0;  // largest |value| of a contribution, if known

  // nodes: messages on links inside so many nodes are raw, and the schedule sums these contributions first (0: none).
  // raw_below: so are messages of fewer bytes.
  int nodes = 0;
  std::size_t raw_below = 0;
  codec::Coding coding = codec::Coding::fixed;  // in messages; memory has fixed streams
};

inline bool mixes(const Spec& s) noexcept { return is_compressed(s.kind) && (s.nodes > 0 || s.raw_below > 0); }

inline constexpr std::size_t kHalfBytes = 2;

// The operation suits the type (when `reduces`), and the bound is positive and finite, if kept.
Status check(const Spec& spec, bool reduces) noexcept;

// |result - exact result| <= error_factor * eps, in exact arithmetic but for the final rounding (and, under recompress
// and cprp2p, that of each raw sum). 0 for raw, integers and bfloat16, whose error is relative (docs/semantics.md).
// With `nodes` sums have as many terms as nodes (mean: p contributions still).
//
//   data movement                   1
//   homomorphic, fused: sum         p;  mean 1;  min, max 1
//     with raw_below: sum           p + 1;  mean (p + 1)/p; and raw sums' rounding, so only for exact operations
//   recompress, cprp2p: sum         2p - 1 (p - 1 meetings of two operands, and the result);  mean (2p - 1)/p
double error_factor(const Spec& spec, bool reduces, int ranks) noexcept;

}  // namespace stretto::payload
