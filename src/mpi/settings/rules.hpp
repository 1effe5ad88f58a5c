// Which calls run how: lines of a file, of which the first that fits decides. Grammar: docs/mpi.md.
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

// "rel:1e-4", "abs:0.5", with ":contribution" or ":result" (which is meant where neither is given) after it.
Status parse_bound(std::string_view text, Bound* bound);

// A number of bytes with K, M or G (powers of 1024) after it.
Status parse_bytes(std::string_view text, std::int64_t* bytes);

struct Action {
  enum class Kind : std::uint8_t {
    usual,   // exact, or within the bound that holds anyway
    off,     // the MPI's own, untouched
    native,  // the MPI's own, through stretto
    exact,
    bounded  // where the call is a sum of floating numbers
  };
  Kind kind = Kind::usual;
  int line = 0;  // of the file, from 1
  Bound bound;
  std::string schedule;                            // empty: chosen
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;  // of bounded calls
  std::uint64_t raw_below = 0;                     // bytes; of bounded calls, as stretto_options has it
};

struct Rule {
  std::optional<Function> operation;                                     // none: any
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();  // bytes, both included
  std::string site, comm;                                                // patterns of the shell; empty: any
  Action action;
};

// Whether there is a schedule of this name, for some collective.
using IsSchedule = std::function<bool(const std::string& name)>;

class Rules {
 public:
  // Replaces what is there; on failure it is empty. Without `is_schedule` any name is taken for a schedule.
  Status parse(std::string_view text, const IsSchedule& is_schedule = nullptr);

  // Of the first line that fits, or null. `site` and `comm` are asked for their names when a line needs them.
  const Action* find(Function operation, std::int64_t bytes, const std::function<std::string()>& site,
                     const std::function<std::string()>& comm) const;

  bool empty() const noexcept { return rules_.empty(); }
  // Lines look at what ranks need not have in common.
  bool looks_at_names() const noexcept { return looks_at_names_; }

 private:
  std::vector<Rule> rules_;
  bool looks_at_names_ = false;
};

}  // namespace stretto::mpi
