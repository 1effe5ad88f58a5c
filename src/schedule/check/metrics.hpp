// Counted costs of schedules: the numbers that the closed formulas of the algorithms' files predict.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct Metrics {
  std::int64_t rounds = 0;    // levels that messages take part in: latency when a rank does one exchange at a time
  std::int64_t depth = 0;     // length of the longest chain of dependent messages
  std::int64_t messages = 0;  // all ranks together
  std::int64_t messages_sent_max = 0;  // by the busiest rank
  std::int64_t blocks_sent = 0;        // blocks times messages, all ranks together
  std::int64_t blocks_sent_max = 0;    // by the busiest rank
  std::int64_t blocks_received_max = 0;
  std::int64_t combines = 0;  // blocks combined, all ranks together
  std::int64_t combines_max = 0;
  std::int64_t scratch_max = 0;  // blocks of tmp that a rank uses
};

// Counts the costs of the schedules of ranks 0, ..., p-1. Fails as the checker does when messages do not meet or never arrive.
Status measure(std::span<const Schedule> all, Metrics* metrics);

}  // namespace stretto::schedule
