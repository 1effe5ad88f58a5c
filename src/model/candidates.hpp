// All that a question may be answered with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/choose.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {

// A schedule to predict, and the ways to run it.
struct Option {
  const schedule::Algorithm* algorithm = nullptr;
  int blocks = 0;
  int radix = 0;
  std::vector<Candidate> ways;  // payload, raw_inside, segment; `seconds` is open
};

// Algorithms that fit the question and the topology, each with the numbers of pieces and arities worth a look, the payloads
// that the question allows, and segments shorter than a block. Payloads of collectives that combine nothing all do the same;
// they stand for one, fused. Empty where what is forced does not fit together; `why` says what then.
std::vector<Option> options_for(const Question& question, const topology::Topology& topology, std::string* why);

// Whether the algorithm may carry this payload: raw sums of a schedule whose ranks bracket differently must be exact, and so must all that
// is rounded on the way.
bool may_carry(const schedule::Algorithm& algorithm, const Question& question, payload::Kind kind) noexcept;

// "allreduce has no schedule 'x'; it has ring, ...".
std::string no_schedule(schedule::Collective collective, std::string_view name);

// Whether a provider's own collective may serve, by what is asked for and forced; and that of a node with streams.
bool own_may_serve(const Question& question) noexcept;
bool node_may_stream(const Question& question) noexcept;

}  // namespace stretto::model
