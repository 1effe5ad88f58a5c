// Collectives that only move blocks (Moves).
//
// A rank exposes blocks of equal length, which other ranks pull. Blocks are cut into chunks, one per round. A staged
// block is copied through the exposer's slots (small blocks within the line). A visible block is pulled in place. A
// rank inside a broadcast's tree forwards each chunk on arrival.
//
// The kernel may refuse access at any moment. Refused blocks come through slots, in a second pass of as many rounds.
// Sources learn of a refusal when they wait for their readers, and exposed blocks stay whole until then. Such a source
// uses no kernel copies afterwards. Cost per chunk of n bytes: staged n in, n out per reader; mapped or copyable n per
// reader.
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
  Stores stores(std::size_t least) const noexcept;  // for results, streaming from `least` bytes on
  Status pass() noexcept;
  Status second_pass() noexcept;
  Status expose(std::uint64_t k) noexcept;
  Status pull(std::uint64_t k) noexcept;
  Status pull_from(const Pull& p, const Line& line, std::uint64_t k, PullState* state) noexcept;

  Collectives& c_;
  Moves& m_;
  std::size_t step_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t first_ = 0;
  Exposure exposure_;
  bool large_ = false;
  bool inlined_ = false;
  bool refused_ = false;
  bool may_stream_ = false;  // long results may use streaming stores
};

}  // namespace stretto::node
