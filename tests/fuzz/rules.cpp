// Property: any text is rules, or refused with a printable message that names a line, leaving no rule. Rules depend on
// the text alone. A decision is a line of the text, for a call within the line's range.
#include <algorithm>
#include <cmath>
#include <string>

#include "mpi/settings/rules.hpp"
#include "require.hpp"

using namespace stretto;
using namespace stretto::mpi;

namespace {

// Short names: the shell's patterns take time exponential in stars and length.
constexpr const char *kSite = "app:main", *kComm = "MPI_COMM";

const Action* decided(const Rules& rules, std::size_t operation, std::int64_t bytes) {
  return rules.find(
      static_cast<Function>(operation), bytes, [] { return kSite; }, [] { return kComm; });
}

void require_line(const Action& a, std::string_view text) {
  require(a.line >= 1 && a.line <= 1 + std::count(text.begin(), text.end(), '\n'), "a rule is a line of the text");
  const bool bounded = a.kind == Action::Kind::bounded;
  require(bounded == (a.bound.kind != STRETTO_BOUND_NONE), "a bound is with what is bounded, and with nothing else");
  require(!bounded || (std::isfinite(a.bound.value) && a.bound.value > 0), "bounds are finite and positive");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ScheduleNames schedules = {"ring", "binomial"};
  Rules rules, again;
  require(again.parse("allreduce site=* exact") == Status::ok, "a rule is one");
  const Status s = rules.parse(text, &schedules);
  require(again.parse(text, &schedules) == s, "the same text has the same status");
  require(s == Status::ok || (rules.empty() && again.empty()), "of what is refused nothing is left");
  require(s == Status::ok || std::string_view(message()).starts_with("line "), "a refusal names the line");
  if (s != Status::ok) require_told();
  for (std::size_t operation = 0; operation < operation_names.size(); ++operation)
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{4096}, std::numeric_limits<std::int64_t>::max()}) {
      const Action *one = decided(rules, operation, bytes), *other = decided(again, operation, bytes);
      require(!one == !other, "the same text decides the same calls");
      if (!one) continue;
      require(one->line == other->line && one->kind == other->kind, "the same text decides alike");
      require_line(*one, text);
    }
  return 0;
}
