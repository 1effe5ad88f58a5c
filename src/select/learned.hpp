#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "call/agreement.hpp"
#include "call/call.hpp"
#include "codec/codec.hpp"

namespace stretto::select {

// Key of shape, type and bound. Never 0.
std::uint64_t key_of(const call::Call& call, std::size_t bytes) noexcept;

// Agreed in blocking calls, by collective, type, bound and length: equal on every rank.
class Ratios {
 public:
  static constexpr std::uint32_t kCallsPerSample = 16;

  std::optional<call::Shrinks> recall(const call::Call& call, std::size_t bytes) const noexcept;
  bool has_room(const call::Call& call, std::size_t bytes) const noexcept;
  // Ratios of 0: the call took no sample.
  void remember(const call::Call& call, std::size_t bytes, const call::Shrinks& ratios, bool samples_later) noexcept;
  // The first call, or kCallsPerSample after the one whose ratios are known.
  bool is_due(const call::Call& call, std::size_t bytes) const noexcept;

  std::uint64_t changes() const noexcept { return changes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    call::Shrinks ratios{0, 0};  // 0: no call took a sample
    std::uint32_t calls = 0;     // without a sample since
  };
  std::array<Entry, 64> entries_;
  std::uint64_t changes_ = 0;
};

// Autotuner for the coding of streams between hosts (docs/model.md, "Trials of codings"). The next call's agreement
// carries the slowest rank's time: ranks keep equal trials, and none waits for a late rank.
class CodingTrials {
 public:
  static constexpr std::uint32_t kWarmUp = 1, kTrials = 4, kCallsUntilAgain = 256;
  static constexpr double kClearGain = 0.98;  // of the time of fixed streams

  // Precondition: the model takes dense streams. *measured: trials have decided. `warms_up`: the first call, no trial.
  codec::Coding next(const call::Call& call, std::size_t bytes, bool* measured, bool* warms_up) noexcept;

  // Nanoseconds on this rank of the latest call unknown to learn(); 0: none.
  std::uint64_t took(const call::Call& call, std::size_t bytes) const noexcept;
  void ran(const call::Call& call, std::size_t bytes, double seconds) noexcept;

  // `nanoseconds`: as agreed (Signature::took).
  void learn(const call::Call& call, std::size_t bytes, std::uint64_t nanoseconds) noexcept;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t calls = 0;
    codec::Coding latest{};
    bool open = false;  // the latest call's time is not learnt
    std::uint64_t took = 0;
    std::uint64_t fixed = 0;  // nanoseconds of the latest fixed trial; 0: unknown
    bool won = false;         // some dense trial beat the fixed trial before it
    bool lost = false;        // some dense trial did not
  };
  std::array<Entry, 64> entries_;
};

}  // namespace stretto::select
