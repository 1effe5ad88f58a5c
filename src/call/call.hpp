// Arguments are copied where the contract says so, not interpreted.
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

constexpr bool counts_at_root(Collective c) noexcept { return schedule::properties(c).counts == Counts::at_root; }

constexpr bool counts_by_pair(Collective c) noexcept { return schedule::properties(c).counts == Counts::by_pair; }

struct Settings {
  stretto_options options = STRETTO_OPTIONS_INIT;
  std::string schedule;
  std::vector<stretto_part> parts;
};

// <= 0: never.
inline double timeout_of(double given) noexcept { return given == 0 ? 300 : given; }
inline double timeout_of(const stretto_options& o) noexcept { return timeout_of(o.timeout); }

struct Call {
  Collective collective{};
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  bool counts_given = false;
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
  std::vector<std::size_t> send_counts;  // counts_by_pair(); `counts` and `displs` then receive
  std::vector<std::size_t> send_displs;
  std::size_t largest = 0;
  stretto_type type = STRETTO_U8;
  stretto_op op = STRETTO_SUM;
  int root = 0;
  std::vector<const void*> inputs;
  bool nonblocking = false;
  device::Device* device = nullptr;             // device of the buffers; null: host
  carrier::DeviceMessages* messages = nullptr;  // null: through the host
  std::optional<void*> stream;
  bool captured = false;
  std::optional<codec::Ranges> values;
  Settings settings;
};

struct Shape {
  Collective collective{};
  bool rank_by_rank = false;
  stretto_type type = STRETTO_U8;
  stretto_op op = STRETTO_SUM;
  int root = 0;
  std::size_t count = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Raw contributions must be combined one by one in rank order.
constexpr bool rank_by_rank(Collective collective, stretto_type type, stretto_op op,
                            const stretto_options& o) noexcept {
  const bool rounds = type == STRETTO_F32 || type == STRETTO_F64 || type == STRETTO_F16 || type == STRETTO_BF16;
  return o.reproducible && reduces(collective) && (rounds || op == STRETTO_USER);
}
inline bool rank_by_rank(const Call& c) noexcept {
  return rank_by_rank(c.collective, c.type, c.op, c.settings.options);
}

inline Shape shape_of(const Call& c) noexcept { return {c.collective, rank_by_rank(c), c.type, c.op, c.root, c.count}; }

// Brackets change no bit: minimum, maximum, and integers.
bool is_exact(const Call& call) noexcept;

bool needs_order(const Call& call) noexcept;

// Borrows `call`, which has a user's operation.
payload::UserFunction user_function(const Call& call) noexcept;

// Accepts another version of the struct; NULL gives defaults.
Status read_options(const stretto_options* given, Settings* settings);

// A reproducible floating reduction within a bound becomes FUSED: a free choice could differ between runs.
void settle_payload(Call* call) noexcept;

}  // namespace stretto::call
