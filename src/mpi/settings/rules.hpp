// Rules for calls: lines of a file, of which the first match decides. Grammar: docs/mpi.md.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mpi/operations.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

struct Bound {
  stretto_bound kind = STRETTO_BOUND_NONE;
  double value = 0;
  stretto_scope scope = STRETTO_SCOPE_RESULT;
  bool operator==(const Bound&) const = default;
};

// Parses "rel:1e-4", "abs:0.5", with an optional ":contribution" or ":result" (the default).
Status parse_bound(std::string_view text, Bound* bound);

// Parses a number of bytes with an optional K, M or G (powers of 1024).
Status parse_bytes(std::string_view text, std::int64_t* bytes);

struct Action {
  enum class Kind : std::uint8_t {
    usual,   // exact, or within a bound that applies anyway
    off,     // the MPI's own collective, untouched
    native,  // the MPI's own collective, through stretto
    exact,
    bounded  // for floating-point sums
  };
  Kind kind = Kind::usual;
  int line = 0;  // line in the file, from 1
  Bound bound;
  std::string schedule;                            // empty: automatic
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;  // for bounded calls
  std::uint64_t raw_below = 0;                     // bytes, for bounded calls; as in stretto_options
};

struct Rule {
  std::optional<Function> operation;                                     // none: any
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();  // bytes, inclusive
  std::string site, comm;                                                // shell patterns; empty: any
  Action action;
};

// True if some collective has a schedule of this name.
using IsSchedule = std::function<bool(const std::string& name)>;

class Rules {
 public:
  // Replaces the rules; they are empty after a failure. Without `is_schedule` any name is accepted as a schedule.
  Status parse(std::string_view text, const IsSchedule& is_schedule = nullptr);

  // Action of the first matching line, or null. `site` and `comm` are called only if a line needs the names.
  const Action* find(Function operation, std::int64_t bytes, const std::function<std::string()>& site,
                     const std::function<std::string()>& comm) const;

  bool empty() const noexcept { return rules_.empty(); }
  // True if some line uses names, which may differ between ranks.
  bool looks_at_names() const noexcept { return looks_at_names_; }

 private:
  std::vector<Rule> rules_;
  bool looks_at_names_ = false;
};

}  // namespace stretto::mpi
