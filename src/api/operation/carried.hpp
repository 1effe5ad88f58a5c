// Ranks without shared memory agree by words in messages (engine/words.hpp), with which short exact values travel.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"

struct stretto_comm_s;

namespace stretto::api {

// Constant, and equal on all ranks: all calls that agree by messages start with words.
bool agrees_by_messages(const stretto_comm_s& comm) noexcept;

// The values of `call`, whose arguments are right, travel with its word. A rank for which they do not has another word.
bool travels_with_word(const stretto_comm_s& comm, const call::Call& call, const select::Decision& decision) noexcept;

engine::Load load_of(const call::Shape& shape, const void* send, void* recv) noexcept;

// Merges all ranks' signatures into *merged. Borrows both arguments.
engine::Load merging(const call::Signature& own, call::Signature* merged) noexcept;

// Hash of the arguments' digest (0 stays 0), how the call goes on if all words are equal, and the number of unchecked
// calls before. So words differ if ranks disagree about whether an earlier call was checked.
std::uint64_t word_of(std::uint64_t digest, const select::Needs& needs, bool carried, std::uint64_t unchecked) noexcept;

// For the report. Sets the name of the algorithm in *ran.
select::Decision carried_decision(const stretto_comm_s& comm, const call::Shape& shape, select::Decision decision,
                                  engine::Report* ran) noexcept;

}  // namespace stretto::api
