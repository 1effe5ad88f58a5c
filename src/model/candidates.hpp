// All that a question may be answered with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/choose.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {

// A schedule to predict, and the combinations of payload and segment to run it with.
struct Option {
  const schedule::Algorithm* algorithm = nullptr;
  int blocks = 0;
  int radix = 0;
  std::vector<Candidate> ways;  // payload, raw_inside, segment; `seconds` is open
};

// Algorithms that fit the question and the topology. Each has the numbers of pieces and arities to be tried, the
// payloads that the question allows, and segments shorter than a block. For collectives that combine nothing all
// compressed payloads are alike; fused stands for them. Empty where forced options contradict each other; `why` then
// names them.
std::vector<Option> options_for(const Question& question, const topology::Topology& topology, std::string* why);

// True if the algorithm may carry this payload: raw sums of a schedule whose ranks bracket differently must be exact;
// payloads that round between steps are excluded.
bool may_carry(const schedule::Algorithm& algorithm, const Question& question, payload::Kind kind) noexcept;

// "allreduce has no schedule 'x'; it has ring, ...".
std::string no_schedule(schedule::Collective collective, std::string_view name);

// True if the forced options allow a provider's own collective, and a node's collective with streams.
bool own_may_serve(const Question& question) noexcept;
bool node_may_stream(const Question& question) noexcept;

}  // namespace stretto::model
