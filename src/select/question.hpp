#pragma once

#include <cstddef>
#include <cstdint>

#include "model/choose.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// alone: sums must be in code space, without additions in the values' own type.
struct Streaming {
  bool may = false, alone = false;
};

struct ModelQuery {
  model::Question question;
  bool mixed = false;  // raw inside hosts and streams between hosts were requested
  std::uint64_t cell = 0;
  bool in_memory = false;  // the memory of several hosts was requested
  bool reported = false;   // on this rank: a report shows the predictions

  // Compares questions too: two may share a cell by chance.
  bool same_answer(const ModelQuery& other) const noexcept;
};

ModelQuery query_of(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                    Support support);

}  // namespace stretto::select
