#include "call/inputs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "call/enums.hpp"
#include "codec/codec.hpp"

namespace stretto::call {
namespace {

constexpr std::size_t kGroup = 1024;
constexpr std::size_t kSamples = 4, kMostSamples = 16;
constexpr std::size_t kSampledPart = 4;                 // groups of a short input for each sampled group
constexpr std::size_t kApart = std::size_t{256} << 10;  // values between samples of a long input

std::size_t sum(const std::vector<std::size_t>& v) { return std::accumulate(v.begin(), v.end(), std::size_t{0}); }

std::size_t end_of(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs,
                   std::size_t packed_end) noexcept {
  std::size_t end = displs.empty() ? packed_end : 0;
  for (std::size_t i = 0; i < displs.size(); ++i)
    if (counts[i] > 0) end = std::max(end, displs[i] + counts[i]);
  return end;
}

const void* at(const void* p, std::size_t element, stretto_type t) noexcept {
  return static_cast<const std::byte*>(p) + element * stretto_type_size(t);
}

}  // namespace

Extent extent(const Call& c, int rank, int ranks) noexcept {
  const std::size_t p = static_cast<std::size_t>(ranks), n = c.count;
  const bool root = rank == c.root;
  const std::size_t all = c.counts_given ? sum(c.counts) : n * p;
  switch (c.collective) {
    case Collective::allreduce:
    case Collective::scan: return {n, n, true, true, true, false};
    case Collective::exscan: return {n, rank > 0 ? n : 0, true, rank > 0, true, false};
    case Collective::allreduce_multi: return {0, n, false, true, false, false};
    case Collective::reduce: return {n, root ? n : 0, true, root, root, false};
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter: return {all, n, true, true, true, false};
    case Collective::allgather:
    case Collective::allgatherv: return {n, all, true, true, true, false};
    case Collective::bcast: return {n, n, root, !root, false, false};
    case Collective::scatter:
    case Collective::scatterv: return {root ? all : 0, n, root, true, false, root};
    case Collective::gather:
    case Collective::gatherv: return {n, root ? all : 0, true, root, root, false};
    case Collective::alltoall: return {all, all, true, true, true, false};
    case Collective::alltoallv: return {sum(c.send_counts), all, true, true, true, false};
    case Collective::barrier:
    case Collective::agreement: return {0, 0, false, false, false, false};
  }
  return {};
}

void find_ends(const Call& c, int rank, int ranks, std::size_t* send, std::size_t* recv) noexcept {
  const Extent e = extent(c, rank, ranks);
  const bool scatters = family(c.collective) == Collective::scatter, sends_in_place = in_place(c.send);
  *send = *recv = 0;
  if (e.sends && !sends_in_place && c.collective != Collective::bcast)
    *send = scatters ? end_of(c.counts, c.displs, e.send) : end_of(c.send_counts, c.send_displs, e.send);
  if (!in_place(c.recv))
    *recv = scatters ? e.recv : end_of(c.counts, c.displs, sends_in_place ? std::max(e.send, e.recv) : e.recv);
}

bool input_piece(const Call& c, int rank, int ranks, std::size_t i, Piece* piece) noexcept {
  const Extent e = extent(c, rank, ranks);
  const auto r = static_cast<std::size_t>(rank);
  if (c.collective == Collective::allreduce_multi) {
    if (i >= c.inputs.size()) return false;
    *piece = {c.inputs[i], c.count};
    return true;
  }
  if (!e.sends) return false;
  if (c.collective == Collective::scatterv && !c.displs.empty()) {
    if (i >= c.counts.size()) return false;
    *piece = {at(c.send, c.displs[i], c.type), c.counts[i]};
    return true;
  }
  if (counts_by_pair(c.collective) && !c.send_displs.empty()) {
    if (i >= c.send_counts.size()) return false;
    *piece = {at(in_place(c.send) ? c.recv : c.send, c.send_displs[i], c.type), c.send_counts[i]};
    return true;
  }
  if (i > 0) return false;
  if (!in_place(c.send)) {
    *piece = {c.send, e.send};
    return true;
  }
  // A gather's block is at its place in the result.
  const bool gathers =
      schedule::family(c.collective) == Collective::allgather || schedule::family(c.collective) == Collective::gather;
  std::size_t first = 0;
  if (gathers) {
    if (!c.counts_given)
      first = r * c.count;
    else if (!c.displs.empty())
      first = c.displs[r];
    else
      first = std::accumulate(c.counts.begin(), c.counts.begin() + rank, std::size_t{0});
  }
  *piece = {e.send ? at(c.recv, first, c.type) : nullptr, e.send};
  return true;
}

std::size_t vector_bytes(const Call& c, int ranks) noexcept {
  if (c.collective == Collective::barrier) return 0;
  std::size_t n = c.count;
  if (counts_by_pair(c.collective))
    n = c.largest;
  else if (!c.counts.empty())
    n = std::accumulate(c.counts.begin(), c.counts.end(), std::size_t{0});
  else if (schedule::properties(c.collective).blocks)
    n *= static_cast<std::size_t>(ranks);
  return n * stretto_type_size(c.type);
}

double ignore_above(const stretto_options& o) noexcept {
  if (o.bound_kind != STRETTO_BOUND_RELATIVE) return std::numeric_limits<double>::infinity();
  return o.ignore_above == 0 ? codec::kIgnoreAbove : o.ignore_above;
}

Status input_values(const Call& call, int rank, int ranks, codec::Ranges* values) noexcept {
  if (call.device != nullptr) {
    *values = call.values.value_or(codec::Ranges{});
    return Status::ok;
  }
  const double above = ignore_above(call.settings.options);
  *values = {};
  Piece piece;
  for (std::size_t i = 0; input_piece(call, rank, ranks, i, &piece); ++i) {
    if (piece.count == 0) continue;
    codec::Ranges own;
    if (Status s = codec::value_ranges(codec_type(call.type), piece.first, piece.count, above, &own); s != Status::ok)
      return s;
    values->merge(own);
  }
  return Status::ok;
}

Shrinks sampled_ratios(const Call& call, int rank, int ranks, double eps) noexcept {
  if (call.device != nullptr) return {};
  std::array<std::byte, 16384> out;
  const codec::Type type = codec_type(call.type);
  const std::size_t size = stretto_type_size(call.type);
  if (codec::compress_bound(type, kGroup) > out.size()) return {};
  double raw = 0, packed = 0, dense = 0;
  Piece piece;
  for (std::size_t i = 0; i < kSamples && input_piece(call, rank, ranks, i, &piece); ++i) {
    const std::size_t wanted = std::clamp(piece.count / kApart, kSamples, kMostSamples);
    const std::size_t places = i == 0 ? std::clamp(piece.count / (kSampledPart * kGroup), std::size_t{1}, wanted) : 1;
    // A sample is a stream of one group. Messages have at least a rank's block after one header.
    const double groups = static_cast<double>(piece.count) / (static_cast<double>(kGroup) * ranks);
    for (std::size_t k = 0; k < places && piece.count > 0; ++k) {
      const std::size_t n = std::min(piece.count, kGroup);
      const std::size_t first = places > 1 ? (piece.count - n) / (places - 1) * k : (piece.count - n) / 2;
      const void* const sample = at(piece.first, first, call.type);
      std::size_t bytes = 0;
      double of_fixed = 0, of_dense = 0, unused = 0;
      codec::Options options;
      options.orders = codec::Coding::dense;
      if (codec::compress(type, sample, n, eps, out, &bytes, options) != Status::ok ||
          !codec::estimate_dense({out.data(), bytes}, &unused, &of_dense) ||
          codec::compress(type, sample, n, eps, out, &bytes, {}) != Status::ok ||
          !codec::estimate_dense({out.data(), bytes}, &of_fixed, &unused))
        return {};
      const double header = (static_cast<double>(bytes) - of_fixed) / std::max(1.0, groups);
      raw += static_cast<double>(n * size);
      packed += of_fixed + header;
      dense += of_dense + header;
    }
  }
  return packed > 0 ? Shrinks{raw / packed, raw / dense} : Shrinks{};
}

}  // namespace stretto::call
