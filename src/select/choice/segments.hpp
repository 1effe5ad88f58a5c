#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// Transport::eager_limit, and the messages between two ranks in a collective.
struct CarrierLimits {
  std::size_t eager_limit = 0;
  std::uint32_t messages = 0;
};

// For a vector of `bytes`. Raw values between hosts travel within the eager limit: another segment costs less than a
// rendezvous. Keeps a requested segment.
std::size_t segment_for(const Call& call, const Choice& choice, std::size_t bytes, std::size_t ranks,
                        std::size_t eager_limit) noexcept;

// Limits the messages between two ranks to `messages`, for every schedule. `grain`: divides a segment. An automatic
// segment grows; if the caller's is too short for `bytes`, every rank gets invalid_argument before data move.
Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept;

// No schedule sends one rank more than this many times its data.
inline constexpr std::size_t kMostPasses = 4;

// Replaces a choice made for equal blocks if counts differ much.
void suit_counts(const Call& call, std::size_t bytes, Choice* choice);

}  // namespace stretto::select
