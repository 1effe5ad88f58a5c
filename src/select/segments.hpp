// How a chosen schedule is cut: segments of the vector, and what suits blocks of unequal length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// What a rank's carrier sets: the longest message to another host that is not announced first (0: length makes no such difference), and how
// many messages one rank may send another in one collective.
struct CarrierLimits {
  std::size_t eager_limit = 0;
  std::uint32_t messages = 0;
};

// Bytes of a segment of what is chosen for a vector of `bytes`. Raw values between hosts travel in messages within the eager limit
// (carrier/mpi_eager_limit.hpp; 0: all the same): a segment more costs less than an announcement that waits. Not where the caller
// asked for a segment, nor where all blocks would have more than 2^12.
std::size_t segment_for(const Call& call, const Choice& choice, std::size_t bytes, std::size_t ranks,
                        std::size_t eager_limit) noexcept;

// No pair of ranks may want more messages than `messages`, whatever the schedule: where the caller's segments of a vector of `bytes` are too short,
// in whole `grain`s, every rank finds invalid_argument before anything has begun; chosen ones grow.
Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept;

// No schedule sends a rank what it has more than so many times over.
inline constexpr std::size_t most_passes = 4;

// The model takes blocks to be of one length. What it chose among schedules gives way to what does well with the counts of this call.
void suit_counts(const Call& call, std::size_t bytes, Choice* choice);

}  // namespace stretto::select
