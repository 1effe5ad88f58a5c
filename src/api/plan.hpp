// From a call on which all ranks agree to what the engine runs: the bound becomes an eps for each contribution, the choice is
// made, the schedule built, the buffers bound.
#pragma once

#include <cstdint>

#include "api/choice.hpp"
#include "api/collective.hpp"
#include "api/communicator.hpp"
#include "api/promise.hpp"
#include "base/status.hpp"
#include "engine/engine.hpp"

namespace stretto::api {

struct Plan {
  Native* native = nullptr;  // the collective of the system below that runs; of `call` only the payload matters then
  engine::Call call;
  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::uint64_t contributions = 1;  // K
  bool mixed = false;               // raw inside hosts
  std::size_t raw_below = 0;        // bytes: messages of fewer travel raw beside streams
  double eps = 0;
  double promised = 0;
  Why why;
  double ratio = 1;  // expected
  Trial trial = 0;   // this call is one of a trial
};

// Bytes of a segment of what is chosen for a vector of `bytes`. Raw values between hosts travel in messages that need not be announced
// (`eager_limit`, see carrier/mpi_eager_limit.hpp; 0: all the same): a segment more costs less than an announcement that waits. Not where the caller
// asked for a segment, nor where all blocks would have more than 2^12.
std::size_t segment_for(const Call& call, const Choice& choice, payload::Kind kind, std::size_t bytes,
                        std::size_t ranks, std::size_t eager_limit) noexcept;

// No pair of ranks may want more messages than `messages`, whatever the schedule: where the caller's segments of a vector of `bytes` are too short,
// in whole `grain`s, every rank finds invalid_argument before anything has begun; chosen ones grow.
Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept;

// No schedule sends a rank what it has more than so many times over.
inline constexpr std::size_t most_passes = 4;

Status make_plan(const Call& call, const Agreed& agreed, stretto_comm_s& comm, Plan* plan) noexcept;

// Looks ahead. Where the arguments are not fit for that, only at what needs no choice; not `known` without memory.
Prospect prospect_of(const Call& call, stretto_comm_s& comm) noexcept;

// Whether the ranks first tell each other near by, in one word each, whether there is anything to exchange: every blocking call with
// check = 1 does so, once, where ranks share a host's memory.
bool agrees_near(const Call& call, const stretto_comm_s& comm) noexcept;

// Keeps what an exchange of a blocking call found out for later calls that make none.
void remember(const Call& call, double ratio, stretto_comm_s& comm) noexcept;

}  // namespace stretto::api
