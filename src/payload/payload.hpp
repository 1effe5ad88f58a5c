// Payloads: the form of a block on the wire, and the combination of two blocks.
//
//   raw          the values themselves.
//   cprp2p       compressed for every hop: each sender compresses what it sends, each receiver decodes it at once.
//   recompress   (DOC) data movement: compressed once by its source, forwarded as it is, decoded at the end. Reductions:
//                decompress, operate, compress.
//   homomorphic  every contribution is compressed first; blocks meet as stream + stream.
//   fused        blocks meet as stream + raw local values in one pass; a contribution is compressed on its own only where
//                it must be sent before anything met it. Min and max have no such pass and run as homomorphic.
//
// Mixed forms (Spec::nodes, Spec::raw_below). A raw message carries the values that its sender would have compressed. A
// decoded value is forwarded unchanged. So results agree as below. A sum of streams that travels raw
// must travel raw to the end, since compressing its decoded value again may move it by eps once more. Hierarchies, and
// trees of growing or shrinking blocks, keep this rule. Sums that met raw are no longer the same bytes for every
// schedule.
//
// Results. Under every payload but raw, all ranks that hold a block at the end of allreduce or allgather hold the same bytes:
// the decoding of one stream, also on the rank that computed it (and with one rank). Homomorphic and fused sums are the same
// bytes for every schedule, number of segments and order. Broadcast leaves the root its exact data; scatter, gather and
// alltoall leave a rank's block to itself exact; reduce and reduce_scatter under recompress and cprp2p end with the raw sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"

namespace stretto::payload {

enum class Kind : std::uint8_t { raw, cprp2p, recompress, homomorphic, fused };

const char* name(Kind k) noexcept;
bool find(const char* text, Kind* kind) noexcept;  // by name; false when there is none

// Where fused sums on a device find the codes of local values: in the pass that adds them to a stream, or by a kernel of their own, when the
// stream is met, or all before the first message (HomComp). Streams are the same bytes either way. The host has the first form alone.
enum class Codes : std::uint8_t { in_passing, when_met, ahead };

// The payload of a collective and its combination. Equal on every rank.
struct Spec {
  Kind kind = Kind::raw;
  Type type = Type::f32;
  Op op = Op::sum;        // reductions only
  double eps = 0;         // absolute bound for each contribution; ignored by raw and by integers (lossless)
  UserFunction user{};    // op == user
  bool checksum = false;  // streams carry and verify a CRC-32C
  Codes codes = Codes::in_passing;
  double magnitude = 0;  // largest |value| of any contribution, if known (codec::Options); the same on every rank

  // Messages that travel raw although `kind` compresses: those over links inside a node, of which there are so many (the schedule
  // adds up the contributions of a node before any of it leaves; 0: none do), and those with fewer bytes of values than this.
  int nodes = 0;
  std::size_t raw_below = 0;
  codec::Coding coding =
      codec::Coding::fixed;  // of streams in messages; memory of a host and of devices has fixed ones
};

// Some messages travel raw and others as streams.
inline bool mixes(const Spec& s) noexcept { return s.kind != Kind::raw && (s.nodes > 0 || s.raw_below > 0); }

// Checks a spec before anything moves: the operation on the type (when `reduces`), a bound that is finite and positive.
Status check(const Spec& spec, bool reduces) noexcept;

// |result - exact result| <= error_factor * eps, in exact arithmetic but for the final rounding (and, under recompress and cprp2p,
// the rounding of each raw sum). 0 for raw and for integers. With `nodes` the sum of a node stands for its contributions: sums
// then have as many terms as there are nodes (mean: of p contributions still), beside the rounding of the raw sums.
//   data movement                   1
//   homomorphic, fused: sum         p;  mean 1;  min, max 1
//   the same with raw_below: sum    p + 1 (a raw sum is compressed again);  mean (p + 1)/p; beside the rounding of raw sums,
//                                   so that calls ask for it in exact operations alone
//   recompress, cprp2p: sum                2p - 1 (two operands of each of p - 1 meetings, and the result);  mean (2p - 1)/p
double error_factor(const Spec& spec, bool reduces, int ranks) noexcept;

}  // namespace stretto::payload
