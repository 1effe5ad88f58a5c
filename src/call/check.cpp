#include "call/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/float_environment.hpp"
#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"

namespace stretto::call {

namespace {

bool addressable(const Call& c, int ranks) {
  const std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max() / stretto_type_size(c.type);
  const auto fits = [&](const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs) {
    std::size_t end = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const std::size_t first = displs.empty() ? end : displs[r];
      if (first > limit || counts[r] > limit - first) return false;
      end = displs.empty() ? first + counts[r] : end;
    }
    return true;
  };
  if (!c.counts_given) {
    const bool blocks = schedule::properties(c.collective).blocks;
    return c.count <= limit / (blocks ? static_cast<std::size_t>(ranks) : 1);
  }
  return fits(c.counts, c.displs) && fits(c.send_counts, c.send_displs);
}

}  // namespace

Status check_sizes(const Call& c, int ranks) {
  if (!is_type(c.type)) return fail(Status::invalid_argument, "type {} is no stretto_type", int(c.type));
  if (rooted(c.collective) && (c.root < 0 || c.root >= ranks))
    return fail(Status::invalid_argument, "root {} is no rank of {}", c.root, ranks);
  if (!addressable(c, ranks))
    return fail(Status::invalid_argument, "a buffer of {} elements of {} for {} ranks exceeds the address space",
                c.count, type_name(c.type), ranks);
  return Status::ok;
}

namespace {

Status check_kind(const Call& c, int ranks) {
  if (const Status s = check_sizes(c, ranks); s != Status::ok) return s;
  if (!reduces(c.collective)) return Status::ok;
  if (!is_op(c.op)) return fail(Status::invalid_argument, "operation {} is no stretto_op", int(c.op));
  if (c.op == STRETTO_USER && !c.settings.options.user_function)
    return fail(Status::invalid_argument, "STRETTO_USER needs options.user_function");
  if (!payload::defined(payload_op(c.op), payload_type(c.type)))
    return fail(Status::unsupported, "operation {} is not defined on type {}", op_name(c.op), type_name(c.type));
  if (c.collective == Collective::allreduce_multi && c.op != STRETTO_SUM && c.op != STRETTO_MEAN &&
      c.op != STRETTO_MIN && c.op != STRETTO_MAX)
    return fail(Status::unsupported, "allreduce_multi takes sum, mean, min and max, not {}", op_name(c.op));
  if (schedule::is_prefix(c.collective) && (c.op == STRETTO_MEAN || c.op == STRETTO_DIFFERENCE))
    return fail(Status::unsupported, "{} does not take {}", name(c.collective), op_name(c.op));
  return Status::ok;
}

Status check_bound(const Call& c) {
  const stretto_options& o = c.settings.options;
  const FloatEnvironment environment;
  const auto kind = int(o.bound_kind), scope = int(o.scope), payload = int(o.payload);
  if (kind < STRETTO_BOUND_NONE || kind > STRETTO_BOUND_RELATIVE)
    return fail(Status::invalid_argument, "bound_kind {} is no stretto_bound", kind);
  if (scope < STRETTO_SCOPE_CONTRIBUTION || scope > STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM)
    return fail(Status::invalid_argument, "scope {} is no stretto_scope", scope);
  if (!is_payload(o.payload)) return fail(Status::invalid_argument, "payload {} is no stretto_payload", payload);
  const bool compressed = is_compressed(o.payload), unbounded = compressed && !keeps_bound(o.payload);
  if (unbounded && o.bound_kind != STRETTO_BOUND_NONE)
    return fail(Status::invalid_argument, "payload {} keeps no bound, and bound_kind is {}", payload_name(o.payload),
                bound_name(o.bound_kind));
  if (o.bound_kind == STRETTO_BOUND_NONE) {
    if (keeps_bound(o.payload) && is_floating(c.type))
      return fail(Status::invalid_argument, "payload {} needs a bound", payload_name(o.payload));
    if (!compressed) return Status::ok;
  } else if (!(o.bound > 0) || !std::isfinite(o.bound)) {
    return fail(Status::invalid_bound, "bound {} is not finite and positive", o.bound);
  }
  if (compressed && schedule::is_prefix(c.collective))
    return fail(Status::unsupported, "{} sends values as they are, not as payload {}", name(c.collective),
                payload_name(o.payload));
  if (unbounded && c.type != STRETTO_F32)
    return fail(Status::unsupported, "payload {} takes {}, not {}", payload_name(o.payload), type_name(STRETTO_F32),
                type_name(c.type));
  if (unbounded && reduces(c.collective) && !payload::compressible(payload_op(c.op)))
    return fail(Status::unsupported, "payload {} does not take operation {}", payload_name(o.payload), op_name(c.op));
  if ((unbounded || o.payload == STRETTO_PAYLOAD_MIXED) && c.collective == Collective::allreduce_multi)
    return fail(Status::unsupported, "allreduce_multi adds its inputs as codes, not as payload {}",
                payload_name(o.payload));
  if (o.reproducible && reduces(c.collective) && is_floating(c.type) && compressed && !adds_codes(o.payload))
    return fail(Status::unsupported, "payload {} rounds as its schedule has it, and options.reproducible is set",
                payload_name(o.payload));
  if (!has_streams(c.type)) return fail(Status::unsupported, "type {} cannot be compressed", type_name(c.type));
  if (reduces(c.collective) && !payload::compressible(payload_op(c.op)))
    return fail(Status::unsupported, "operation {} cannot keep a bound", op_name(c.op));
  return Status::ok;
}

// Only beside streams of codes, and if neither bits nor sums of this rank's own arrays may depend on the schedule.
Status check_raw_below(const Call& c) {
  const stretto_options& o = c.settings.options;
  if (o.raw_below == 0 || c.collective == Collective::barrier) return Status::ok;
  const auto refuse = [&](std::string_view what) {
    return fail(Status::unsupported, "raw_below {} is not offered {}", o.raw_below, what);
  };
  if (is_compressed(o.payload) && !adds_codes(o.payload))
    return refuse(fmt::format("with payload {}; it takes fused, homomorphic and auto", payload_name(o.payload)));
  if (c.collective == Collective::allreduce_multi) return refuse("by allreduce_multi, which adds codes alone");
  if (o.reproducible && reduces(c.collective)) return refuse("where options.reproducible is set");
  return Status::ok;
}

Status check_parts(const Call& c) {
  const stretto_options& o = c.settings.options;
  const FloatEnvironment environment;
  const std::vector<stretto_part>& parts = c.settings.parts;
  if (parts.empty()) return Status::ok;
  const auto refuse = [](std::string_view what) { return fail(Status::unsupported, "options.parts with {}", what); };
  if (c.collective != Collective::allreduce) return refuse(name(c.collective));
  if (!is_floating(c.type)) return refuse(type_name(c.type));
  if (!adds_codes(o.payload))
    return refuse(fmt::format("payload {}; fused and homomorphic are served", payload_name(o.payload)));
  if (o.raw_below != 0) return refuse("raw_below");
  if (const std::string& its = c.settings.schedule; its == kNativeName || its == kNodeName)
    return refuse(fmt::format("schedule {}", its));
  if (o.bound_kind != STRETTO_BOUND_ABSOLUTE)
    return fail(Status::invalid_bound, "bound_kind is {}; options.parts have absolute bounds",
                bound_name(o.bound_kind));
  std::size_t sum = 0;
  double largest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!(parts[i].bound > 0) || !std::isfinite(parts[i].bound))
      return fail(Status::invalid_bound, "bound {} of part {} is not finite and positive", parts[i].bound, i);
    if (parts[i].count > c.count - sum)
      return fail(Status::invalid_argument, "parts 0 to {} have more than the {} elements of the vector", i, c.count);
    sum += parts[i].count;
    largest = std::max(largest, parts[i].bound);
  }
  if (sum != c.count) return fail(Status::invalid_argument, "parts have {} elements, the vector {}", sum, c.count);
  if (largest != o.bound)
    return fail(Status::invalid_bound, "bound is {}, and the largest of the parts {}", o.bound, largest);
  return Status::ok;
}

Status check_coding(const Call& c) {
  const stretto_options& o = c.settings.options;
  if (o.coding < STRETTO_CODING_AUTO || o.coding > STRETTO_CODING_DENSE)
    return fail(Status::invalid_argument, "coding {} is no stretto_coding", int(o.coding));
  if (o.coding != STRETTO_CODING_AUTO && is_compressed(o.payload) && !keeps_bound(o.payload))
    return fail(Status::unsupported, "coding {} is of streams, and payload {} has none", coding_name(o.coding),
                payload_name(o.payload));
  return Status::ok;
}

Status check_options(const Call& c) {
  const stretto_options& o = c.settings.options;
  if (const Status s = check_coding(c); s != Status::ok) return s;
  if (std::isnan(o.timeout)) return fail(Status::invalid_argument, "timeout is NaN");
  if (!(o.ignore_above >= 0)) return fail(Status::invalid_argument, "ignore_above is {}; 0 or more", o.ignore_above);
  if (o.report && o.report->size < sizeof o.report->size)
    return fail(Status::invalid_argument, "report.size is {}; use STRETTO_REPORT_INIT", o.report->size);
  return Status::ok;
}

Status check_buffer(const void* p, const char* what, std::size_t elements, bool may_be_in_place) {
  if (in_place(p)) return may_be_in_place ? Status::ok : fail(Status::invalid_argument, "{} is STRETTO_IN_PLACE", what);
  return p || elements == 0 ? Status::ok
                            : fail(Status::invalid_argument, "{} is NULL with {} elements", what, elements);
}

Status check_addresses(const Call& c, int rank, int ranks) {
  const Extent e = extent(c, rank, ranks);
  const bool one = c.collective == Collective::bcast;
  if (e.sends)
    if (Status s = check_buffer(c.send, one ? "buffer" : "sendbuf", e.send, e.send_in_place); s != Status::ok) return s;
  if (e.receives || in_place(c.send)) {
    const std::size_t n = in_place(c.send) ? std::max(e.recv, e.send) : e.recv;
    if (Status s = check_buffer(c.recv, one ? "buffer" : "recvbuf", n, e.recv_in_place); s != Status::ok) return s;
  }
  if (e.sends && e.receives && c.send == c.recv && c.send && e.send && e.recv)
    return fail(Status::invalid_argument,
                "sendbuf and recvbuf are the same address; STRETTO_IN_PLACE is how to say so");
  for (std::size_t j = 0; j < c.inputs.size(); ++j) {
    if (!c.inputs[j] && c.count) return fail(Status::invalid_argument, "contributions[{}] is NULL", j);
    if (in_place(c.inputs[j]) || (c.inputs[j] == c.recv && c.count))
      return fail(Status::invalid_argument, "contributions[{}] is {}", j,
                  in_place(c.inputs[j]) ? "STRETTO_IN_PLACE" : "the receive buffer");
  }
  if (c.collective == Collective::allreduce_multi && c.inputs.empty() && (c.op == STRETTO_MIN || c.op == STRETTO_MAX))
    return fail(Status::invalid_argument, "k is 0, and {} of nothing is undefined", op_name(c.op));
  return Status::ok;
}

Status check_overlap(const Call& c, int rank) {
  const bool receives = c.collective == Collective::allgatherv || counts_by_pair(c.collective) ||
                        (c.collective == Collective::gatherv && rank == c.root);
  if (!receives || c.displs.empty()) return Status::ok;
  std::vector<std::size_t> order(c.displs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t r) { return c.counts[r] == 0; });
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return c.displs[a] < c.displs[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (c.displs[order[i - 1]] + c.counts[order[i - 1]] > c.displs[order[i]])
      return fail(Status::invalid_argument, "blocks of ranks {} and {} overlap in recvbuf", order[i - 1], order[i]);
  return Status::ok;
}

Status check_own_pair(const Call& c, int rank) {
  if (!counts_by_pair(c.collective)) return Status::ok;
  const auto r = static_cast<std::size_t>(rank);
  if (c.send_counts[r] == c.counts[r]) return Status::ok;
  return fail(Status::invalid_argument, "rank {} sends itself {} elements and expects {}", rank, c.send_counts[r],
              c.counts[r]);
}

}  // namespace

Status check_values(const Call& call, int ranks) noexcept {
  return guarded("to check the arguments", [&] {
    if (call.collective == Collective::barrier) {
      const Status s = check_parts(call);
      return s == Status::ok ? check_options(call) : s;
    }
    Status s = check_kind(call, ranks);
    if (s == Status::ok) s = check_bound(call);
    if (s == Status::ok) s = check_raw_below(call);
    if (s == Status::ok) s = check_parts(call);
    return s == Status::ok ? check_options(call) : s;
  });
}

Status check_buffers(const Call& call, int rank, int ranks) noexcept {
  return guarded("to check the arguments", [&] {
    if (call.collective == Collective::barrier) return Status::ok;
    Status s = check_addresses(call, rank, ranks);
    if (s == Status::ok) s = check_overlap(call, rank);
    return s == Status::ok ? check_own_pair(call, rank) : s;
  });
}

}  // namespace stretto::call
