#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct Metrics {
  std::int64_t rounds = 0;
  std::int64_t depth = 0;  // longest chain of dependent messages
  std::int64_t messages = 0;
  std::int64_t messages_sent_max = 0;
  std::int64_t blocks_sent = 0;
  std::int64_t blocks_sent_max = 0;
  std::int64_t blocks_received_max = 0;
  std::int64_t combines = 0;
  std::int64_t combines_max = 0;
  std::int64_t scratch_max = 0;
};

// Fails like the checker if messages do not match or never arrive.
Status measure(std::span<const Schedule> all, Metrics* metrics);

}  // namespace stretto::schedule
