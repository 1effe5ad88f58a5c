// The first matching line of a file decides (docs/mpi.md).
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

// "rel:1e-4", "abs:0.5", and ":contribution" or ":result" (the default).
Status parse_bound(std::string_view text, Bound* bound);

// Remark on a relative bound of 1 and more, else empty.
std::string remark_on(const Bound& bound);

// With an optional K, M or G (powers of 1024).
Status parse_bytes(std::string_view text, std::int64_t* bytes);

struct Action {
  enum class Kind : std::uint8_t {
    usual,   // exact, or a bound that applies anyway
    off,     // the MPI's own, untouched
    native,  // the MPI's own, through stretto
    exact,
    bounded  // or with a payload that keeps no bound: then `bound` has kind NONE
  };
  Kind kind = Kind::usual;
  int line = 0;
  Bound bound;
  std::string schedule;
  stretto_payload payload = STRETTO_PAYLOAD_AUTO;  // if bounded
  stretto_coding coding = STRETTO_CODING_AUTO;     // if bounded
  std::uint64_t raw_below = 0;                     // bytes, if bounded
  bool moves = false;                              // the line bounds a named collective that moves data
};

struct Rule {
  std::optional<Function> operation;
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();  // bytes, inclusive
  std::string site, comm;
  Action action;
};

// Null accepts any.
using ScheduleNames = std::vector<std::string>;

class Rules {
 public:
  // None after a failure.
  Status parse(std::string_view text, const ScheduleNames* schedules = nullptr);

  // Null: no line matches. Calls `site` and `comm` only for lines with names.
  const Action* find(Function operation, std::int64_t bytes, const std::function<std::string()>& site,
                     const std::function<std::string()>& comm) const;

  bool empty() const noexcept { return rules_.empty(); }
  std::size_t size() const noexcept { return rules_.size(); }
  // The first line that asks for streams without a bound; 0: none.
  int line_without_bound() const noexcept;
  // Names may differ between ranks.
  bool looks_at_names() const noexcept { return looks_at_names_; }
  // Remarks on bounds: "line 3: rel:2 ...".
  std::vector<std::string> remarks() const;

 private:
  std::vector<Rule> rules_;
  bool looks_at_names_ = false;
};

}  // namespace stretto::mpi
