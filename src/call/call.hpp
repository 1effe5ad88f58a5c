// One call of the C API as data: the caller's arguments, copied where the contract says so, and not yet interpreted.
// Blocking and nonblocking forms fill in the same record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "payload/element.hpp"
#include "payload/payload.hpp"
#include "schedule/collective.hpp"
#include "stretto/stretto.h"

namespace stretto::carrier {
class DeviceMessages;
}
namespace stretto::device {
class Device;
}

namespace stretto::call {

using schedule::Collective;
using schedule::Counts;
using schedule::reduces;
using schedule::rooted;

// True if a rank other than the root needs counts that only the root and the owner of each block know.
constexpr bool counts_at_root(Collective c) noexcept { return schedule::properties(c).counts == Counts::at_root; }

// True if each pair of ranks has a count of its own, which only these two know.
constexpr bool counts_by_pair(Collective c) noexcept { return schedule::properties(c).counts == Counts::by_pair; }

// stretto_options with its defaults filled in and its pointers resolved.
struct Settings {
  stretto_options options = STRETTO_OPTIONS_INIT;
  std::string schedule;                               // empty: chosen
  payload::Codes codes = payload::Codes::in_passing;  // which form of FUSED was asked for
};

// Seconds until a wait is given up; <= 0: never.
inline double timeout_of(double given) noexcept { return given == 0 ? 300 : given; }
inline double timeout_of(const stretto_options& o) noexcept { return timeout_of(o.timeout); }

struct Call {
  Collective collective{};
  const void* send = nullptr;  // the only buffer of bcast, at root
  void* recv = nullptr;        // the only buffer of bcast, elsewhere
  std::size_t count = 0;       // elements a rank, a block, or (with counts) of this rank's own block
  bool counts_given = false;   // by the caller; false where they are significant at the root only
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
  std::vector<std::size_t>
      send_counts;  // counts_by_pair(): to each rank; `counts` and `displs` are then of what comes from each
  std::vector<std::size_t> send_displs;
  std::size_t largest =
      0;  // counts_by_pair(): elements that the busiest rank sends or receives, once all know; 0 before
  stretto_type type = STRETTO_U8;
  stretto_op op = STRETTO_SUM;
  int root = 0;
  std::vector<const void*> inputs;              // allreduce_multi
  bool nonblocking = false;                     // started as a request
  device::Device* device = nullptr;             // whose memory the buffers are in; null: the host's
  carrier::DeviceMessages* messages = nullptr;  // between all ranks' devices; null: through the host
  std::optional<void*> stream;                  // of the device, in whose order the call is
  bool captured = false;                        // the stream is, in a graph
  std::optional<codec::Ranges> values;          // of the input, where the host cannot read it
  Settings settings;
};

// Everything that decides how a call without arrays of counts and inputs runs, except its buffers and options.
struct Shape {
  Collective collective{};
  bool rank_by_rank = false;  // as of rank_by_rank()
  stretto_type type = STRETTO_U8;
  stretto_op op = STRETTO_SUM;
  int root = 0;
  std::size_t count = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// True if raw contributions must be combined one after the other, in the order of the ranks, for reproducible bits.
constexpr bool rank_by_rank(Collective collective, stretto_type type, stretto_op op,
                            const stretto_options& o) noexcept {
  const bool rounds = type == STRETTO_F32 || type == STRETTO_F64 || type == STRETTO_F16 || type == STRETTO_BF16;
  return o.reproducible && reduces(collective) && (rounds || op == STRETTO_USER);
}
inline bool rank_by_rank(const Call& c) noexcept {
  return rank_by_rank(c.collective, c.type, c.op, c.settings.options);
}

inline Shape shape_of(const Call& c) noexcept { return {c.collective, rank_by_rank(c), c.type, c.op, c.root, c.count}; }

// The operation has one result, however contributions are bracketed: minimum, maximum, and what integers do.
bool is_exact(const Call& call) noexcept;

// Contributions must be combined in the order of the ranks.
bool needs_order(const Call& call) noexcept;

// The user's operation as payloads take it; `call` is borrowed. Precondition: the call has one.
payload::UserFunction user_function(const Call& call) noexcept;

// Copies the caller's options, of this or an earlier version of the struct; NULL gives the defaults.
Status read_options(const stretto_options* given, Settings* settings);

// Resolves the forms of FUSED, and sets the payload of a reproducible floating reduction within a bound to FUSED: a free
// choice could be raw in one run and compressed in another.
void settle_payload(Call* call) noexcept;

}  // namespace stretto::call
