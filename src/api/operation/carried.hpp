// Ranks that share no memory agree by words in messages (engine/words.hpp), and short exact values travel with the words.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"

struct stretto_comm_s;

namespace stretto::api {

// Constant for a communicator, and equal on all ranks. So all calls that agree by messages start with words, blocking or
// not, prepared or not.
bool agrees_by_messages(const stretto_comm_s& comm) noexcept;

// The values of `call`, whose arguments are right, travel with its word. A rank for which they do not has another word.
bool travels_with_word(const stretto_comm_s& comm, const call::Call& call, const select::Decision& decision) noexcept;

// The load of a call whose values travel with its word. `send` and `recv` are the buffers of the Call.
engine::Load load_of(const call::Shape& shape, const void* send, void* recv) noexcept;

// A load that merges the signatures of all ranks into *merged. `own` and `merged` are borrowed.
engine::Load merging(const call::Signature& own, call::Signature* merged) noexcept;

// The digest of a call's arguments (0 stays 0), how the call goes on where all words are equal, and the number of
// unchecked calls before. So words of two calls differ where ranks disagree about whether the first one is checked.
std::uint64_t word_of(std::uint64_t digest, const select::Needs& needs, bool carried, std::uint64_t unchecked) noexcept;

// For the report of a call whose values travelled so. Sets the name of the algorithm in *ran.
select::Decision carried_decision(const stretto_comm_s& comm, const call::Shape& shape, select::Decision decision,
                                  engine::Report* ran) noexcept;

}  // namespace stretto::api
