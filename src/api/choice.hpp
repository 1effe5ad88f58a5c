// Which schedule, payload and segment a collective runs with when the caller forces none: thresholds in bytes, written down
// in docs/api.md. Pure functions of what all ranks agree on, so every rank chooses alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/collective.hpp"
#include "api/native.hpp"
#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::api {

// The name that stands for the communicator's own collective where a schedule is forced or reported.
inline constexpr const char* native_name = "native";

// Names of schedules as small numbers for the agreement: 0 is "chosen", -1 a name that is none.
int schedule_index(const char* name) noexcept;
const char* schedule_name(int index) noexcept;

// A forced schedule must exist, offer the collective, and keep the order of an operation that does not commute; `native` (null:
// there are none) must serve the call, exact.
Status check_schedule(const Call& call, const Native* native);

struct Choice {
  bool native = false;  // the communicator's own collective; the rest is void then
  std::string schedule;
  stretto_payload payload = STRETTO_PAYLOAD_RAW;
  std::size_t segment = 0;  // bytes
  int blocks = 0;           // pieces of a pipelined schedule; 0: what it needs
};

// `bytes` is the length of the whole vector (of all blocks); `compress` whether a bound allows streams (and more than
// raw is wanted: false when the bound is exact); `native` null: no collectives of its own. Counts must be complete.
Choice choose(const Call& call, std::size_t bytes, int ranks, bool compress, const Native* native);

// Schedules already built by a communicator.
class Schedules {
 public:
  std::shared_ptr<const schedule::Schedule> get(const std::string& algorithm, const schedule::Request& request);

 private:
  struct Entry {
    std::string algorithm;
    schedule::Request request;
    std::shared_ptr<const schedule::Schedule> schedule;
  };
  std::vector<Entry> entries_;  // the latest last, at most `capacity`
  static constexpr std::size_t capacity = 16;
};

}  // namespace stretto::api
