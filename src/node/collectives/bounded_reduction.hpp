// Bounded reduce, allreduce and reduce-scatter.
//
// The vector is cut into chunks, and a chunk into parts of whole codec groups. Each rank compresses its contribution to
// all other ranks' parts into its slot. A part's owner adds these streams and its own values in code space, and leaves
// the sum in its slot as a stream, which ranks decode. A round does one step of each of three successive chunks, so a
// slot holds contributions to one and the sum of the previous. A sum whose stream exceeds its room travels decoded. If
// a chunk has too few parts, ranks own parts in turn.
//
// Cost of n bytes over p ranks: rounds ⌈n/chunk⌉ + 2; a rank compresses (p-1)/p·n, fuses n/p, adds (p-2)/p·n of
// streams, decodes n; 2·n/ratio cross. Error p·eps.
#pragma once

#include <vector>

#include "node/collectives/coder.hpp"

namespace stretto::node {

class BoundedReduction {
 public:
  BoundedReduction(Group& group, Coder& coder, const BoundedCall& call);
  Status run() noexcept;

 private:
  struct Part {
    int owner = 0;
    std::size_t at = 0, count = 0;
    std::size_t out = 0;
  };
  struct Published {
    std::uint32_t decoded = 0;  // 1: the sum in this slot is values, not a stream
    std::uint32_t reserved = 0;
  };

  Part part(std::uint64_t chunk, std::size_t index) const noexcept;
  bool owned(std::uint64_t chunk, std::size_t* index) const noexcept;
  codec::MutableBytes region(std::byte* body, std::size_t index) const noexcept;
  codec::Bytes region(const std::byte* body, std::size_t index) const noexcept;
  std::size_t sum_region() const noexcept;
  Status contribute(std::uint64_t chunk, std::byte* body) noexcept;
  Status add_up(std::uint64_t chunk, std::byte* body, Published* payload) noexcept;
  Status copy_out(std::uint64_t chunk) noexcept;

  Group& g_;
  Coder& coder_;
  const BoundedCall& call_;
  const std::byte* in_;
  std::byte* out_;
  std::size_t ranks_, me_;
  bool scatters_;
  std::uint32_t divisor_;
  std::size_t owners_ = 0;
  std::size_t piece_ = 0;
  std::size_t room_ = 0;
  std::uint64_t pieces_ = 0, chunks_ = 0, first_ = 0;
  std::vector<int> others_;  // in ring order from the next rank
  std::vector<codec::Bytes> streams_;
};

}  // namespace stretto::node
