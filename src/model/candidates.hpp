#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/choose.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {

struct Option {
  const schedule::Algorithm* algorithm = nullptr;
  int blocks = 0;
  int radix = 0;
  std::vector<Candidate> ways;
};

// Algorithms with pieces and arities, allowed payloads, and segments shorter than a block. Where nothing is combined,
// fused stands for all compressed payloads. Empty, with a reason: forced options contradict each other.
std::vector<Option> options_for(const Question& question, const topology::Topology& topology, std::string* why);

// False: raw sums would differ between ranks, or the payload rounds between steps.
bool may_carry(const schedule::Algorithm& algorithm, const Question& question, payload::Kind kind) noexcept;

std::string no_schedule(schedule::Collective collective, std::string_view name);

// The native collective, or the node's with streams.
bool own_may_serve(const Question& question) noexcept;
bool node_may_stream(const Question& question) noexcept;

}  // namespace stretto::model
