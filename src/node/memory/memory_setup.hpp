// A memory while the ranks make it, in two exchanges: of facts, and of each rank's answer for every access. Where a
// rank asks for descriptors or was refused a kernel copy, its peers help it, and the ranks exchange their answers
// again.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "node/memory/memory.hpp"
#include "node/memory/segment.hpp"

namespace stretto::node {

// A file's inode is unique while it is mapped.
struct Origin {
  Token process{};
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const Origin&) const = default;
};

struct Memory::Setup {
  struct Facts {
    Origin arena;
    std::uint64_t arena_bytes = 0;  // 0: there is none
    Offer arena_file;
    std::int64_t xpmem = -1;
    const std::uint64_t* secret = nullptr;  // for trials of kernel copies; null: unwanted
    std::uint64_t value = 0;
  };
  struct Answer {
    bool can = false;
    std::array<char, 159> why{};
  };
  struct Answers {
    std::array<Answer, kAccesses> of;
    bool asks = false;     // for descriptors of arenas
    bool refused = false;  // a kernel copy
  };

  Setup(Exchange& among, const MemoryOptions& wishes) noexcept : exchange(among), options(wishes) {}

  Exchange& exchange;
  const MemoryOptions& options;
  std::uint64_t secret = 0;
  Descriptor arena;
  Facts mine;
  Answers answers;
  // By rank, allocated before the first exchange.
  std::vector<Facts> all;
  std::vector<Offer> wanted;
  std::vector<Descriptor> passed;

  void answer(Access a, bool can, std::string_view why) noexcept {
    Answer& own = answers.of[static_cast<std::size_t>(a)];
    own = {can, {}};
    why.copy(own.why.data(), own.why.size() - 1);
  }
  void answer(Access a, Status s) noexcept { answer(a, s == Status::ok, message()); }
};

}  // namespace stretto::node
