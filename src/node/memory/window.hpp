// Each rank's input and results, which all peers read in place during one call. A rank tells how many steps of its
// results are complete, and waits for steps of peers alone. Ranks may be any number of steps apart.
//
// All ranks open a window with equal calls and numbers of steps; lengths of buffers may differ. Memory that one peer
// cannot read leaves the call without a window on all ranks. A kernel copy that is refused later is a failure. A rank's
// input and results stay as its peers may read them until close() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "node/group/group.hpp"
#include "node/memory/memory.hpp"

namespace stretto::node {

class Window {
 public:
  using Buffer = std::span<const std::byte>;

  Window(Group& group, Memory& memory) noexcept : g_(group), memory_(memory) {}

  // *visible, equal on all ranks: there is a window, which close() ends. Cost: two rounds. Throws before it does
  // anything.
  Status open(const CallRecord& call, Buffer input, Buffer results, std::uint64_t steps, bool* visible);

  // A peer's input is in place, or copied to `room`.
  Status input(int peer, std::size_t at, std::size_t bytes, std::byte* room, const std::byte** found) noexcept;

  Status publish() noexcept;

  // Copies a peer's results of a complete step.
  Status fetch(int peer, std::uint64_t step, std::size_t at, std::size_t bytes, std::byte* to) noexcept;

  // Waits until a peer reads no results of `step` and earlier ones any more.
  Status await_left(int peer, std::uint64_t step) noexcept;

  // This rank reads no results of `step` and earlier ones any more.
  void leave(std::uint64_t step) noexcept { g_.done(first_ + kMeeting + step + 1); }

  // Returns when no rank of the group reads anything more.
  Status close() noexcept;

 private:
  // Rounds before and after those of the steps. No line is published in the last: a rank that is done with it reads
  // nothing more, while one that has left the last step may still read inputs.
  static constexpr std::uint64_t kMeeting = 2, kClosing = 1;

  enum class Refusal : std::uint32_t { none, staged, by_kernel };
  struct Published {
    Exposure input, results;
    std::uint64_t input_bytes = 0, results_bytes = 0;
  };
  static_assert(sizeof(Published) <= kInline);
  struct Peer {
    Exposure input, results;
    const std::byte* seen_input = nullptr;  // null: to be copied
    const std::byte* seen_results = nullptr;
  };

  Status meet(Buffer input, Buffer results, bool* visible) noexcept;
  Status tell(const void* word, std::size_t bytes) noexcept;
  Refusal try_reading(int peer, const Exposure& exposure, std::size_t bytes, const std::byte** seen) noexcept;

  Group& g_;
  Memory& memory_;
  std::vector<int> others_;
  std::vector<Peer> peers_;
  std::uint64_t first_ = 0, next_ = 0, end_ = 0;  // rounds; the first two open the window
};

}  // namespace stretto::node
