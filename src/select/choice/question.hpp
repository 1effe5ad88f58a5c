#pragma once

#include <cstddef>
#include <cstdint>

#include "model/choose.hpp"
#include "select/decision.hpp"

namespace stretto::select {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t x) noexcept {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

// alone: sums must be in code space.
struct Streaming {
  bool may = false, alone = false;
};

struct ModelQuery {
  model::Question question;
  bool mixed = false;  // raw inside hosts and streams between hosts were requested
  std::uint64_t cell = 0;
  bool in_memory = false;  // the memory of several hosts was requested
  bool reported = false;   // on this rank: a report shows the predictions

  // Compares the questions: two may share a cell.
  bool same_answer(const ModelQuery& other) const noexcept;
};

// Determines a query, for calls without a schedule and a report; faster to compare than to make one.
struct CallForm {
  std::uint64_t bytes = 0, segment = 0, raw_below = 0;
  double ratio = 0, dense_ratio = 0;
  call::Collective collective{};
  stretto_type type{};
  stretto_op op{};
  stretto_payload payload{};
  stretto_coding coding{};
  int root = 0, reaching = 0;
  std::uint32_t flags = 0;

  friend bool operator==(const CallForm&, const CallForm&) = default;
};

// Precondition: options.schedule is empty.
CallForm form_of(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                 Support support) noexcept;

std::size_t hash_of(const CallForm& form) noexcept;

ModelQuery query_of(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                    Support support);

}  // namespace stretto::select
