// What ranks exchange by messages before a call's data move. Those that share no memory agree by words
// (engine/words.hpp), with which short exact values travel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "call/call.hpp"
#include "engine/engine.hpp"
#include "select/decision.hpp"

struct stretto_comm_s;

namespace stretto::api {

// One block of u64, never cut, exact. `in` and `out` are borrowed.
Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request,
                      std::uint64_t number = engine::Engine::kNext);

// Constant, and equal on all ranks: all calls that agree by messages start with words.
bool agrees_by_messages(const stretto_comm_s& comm) noexcept;

// The values of `call`, whose arguments are right, travel with its word. A rank for which they do not has another word.
bool travels_with_word(const stretto_comm_s& comm, const call::Call& call, const select::Decision& decision) noexcept;

engine::Load load_of(const call::Shape& shape, const void* send, void* recv) noexcept;

// Merges one signature into another.
void merge_signature(const void* from, void* into);

// Merges all ranks' signatures into *merged. Borrows both arguments.
engine::Load merging(const call::Signature& own, call::Signature* merged) noexcept;

// Hash of the arguments' digest (0 stays 0), how the call goes on if all words are equal, and the number of unchecked
// calls before. So words differ if ranks disagree about whether an earlier call was checked.
std::uint64_t word_of(std::uint64_t digest, const select::Needs& needs, bool carried, std::uint64_t unchecked) noexcept;

// For the report of raw values that moved at once, or with the word: then *ran gets the name of the algorithm.
void complete_raw(const stretto_comm_s& comm, const call::Shape& shape, bool carried, select::Decision* decision,
                  engine::Report* ran) noexcept;

}  // namespace stretto::api
