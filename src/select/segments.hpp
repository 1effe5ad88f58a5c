// Cuts a chosen schedule into segments, and changes the schedule for blocks of unequal length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Limits of a rank's carrier: the longest message to another host that is not announced first (0: length makes no
// difference), and the number of messages that one rank may send another in one collective.
struct CarrierLimits {
  std::size_t eager_limit = 0;
  std::uint32_t messages = 0;
};

// Bytes of a segment for a vector of `bytes`. Raw values between hosts travel in messages within the eager limit
// (Transport::eager_limit; 0: there is none): another segment costs less than an announcement. The choice's own
// segment stays where the caller asked for one, or where all blocks together would have more than 2^12 segments.
std::size_t segment_for(const Call& call, const Choice& choice, std::size_t bytes, std::size_t ranks,
                        std::size_t eager_limit) noexcept;

// Holds the messages between two ranks to `messages`, for every schedule. `grain`: a segment is a multiple of so many
// bytes. If the caller's segment is too short for a vector of `bytes`, every rank gets invalid_argument before anything
// moves. A chosen segment grows instead.
Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept;

// No schedule sends one rank more than this many times the bytes of its data.
inline constexpr std::size_t most_passes = 4;

// The model assumes blocks of equal length. With very different counts, the chosen schedule is replaced by a suitable
// one.
void suit_counts(const Call& call, std::size_t bytes, Choice* choice);

}  // namespace stretto::select
