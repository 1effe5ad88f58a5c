// Blocks that are only moved: broadcast, allgather, gather, scatter, alltoall. Each is who exposes what and who pulls what; the
// rest is here.
//
// A rank exposes some blocks of equal length, which others pull. Blocks are cut in chunks, one a round: a staged block is copied
// chunk by chunk through the exposer's slots (small ones within the line itself), one that can be seen is pulled from where it is.
// A rank that exposes what it pulls (inside a broadcast's tree) passes on each chunk as it comes, so that the levels of the tree
// overlap.
//
// Blocks that a rank is refused (the kernel may refuse at any moment) come in a second pass of as many rounds, through
// slots. Sources learn of a refusal where they wait for their readers to be done, so the pass costs nothing without
// refusals. Until then exposed blocks are whole, and no other rank takes part. From then on such a source leaves
// nothing to the kernel. Cost a chunk of n bytes: staged n in, n out a reader; mapped or copyable n a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "node/collectives/collectives.hpp"

namespace stretto::node {

class Transfer {
 public:
  Transfer(Collectives& c, Moves& moves) noexcept;
  Status run() noexcept;

 private:
  struct Chunk {
    std::size_t at, bytes;
  };
  Chunk chunk(std::uint64_t k) const noexcept;
  Stores stores(std::size_t least) const noexcept;  // of results that go past the caches from so many bytes on
  Status pass() noexcept;
  Status second_pass() noexcept;
  Status expose(std::uint64_t k) noexcept;
  Status pull(std::uint64_t k) noexcept;
  Status pull_from(const Pull& p, const Line& line, std::uint64_t k, Left* left) noexcept;

  Collectives& c_;
  Moves& m_;
  std::size_t step_ = 0;  // bytes of a chunk
  std::uint64_t chunks_ = 0;
  std::uint64_t first_ = 0;  // round
  Exposure exposure_;
  bool large_ = false;  // exposures are told in the lines
  bool inlined_ = false;
  bool refused_ = false;     // in this pass
  bool may_stream_ = false;  // long results go past the caches
};

}  // namespace stretto::node
