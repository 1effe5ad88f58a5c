#include "select/choice/segments.hpp"

#include <algorithm>

#include "schedule/registry.hpp"

namespace stretto::select {

using namespace call;

namespace {

// Ratio of the largest to the mean block from which a segmented ring pays, and its segment.
constexpr std::size_t kUneven = 4, kRingSegment = std::size_t{64} << 10;

// A segment takes a few hundred bytes, and all receives into final buffers are posted at once.
constexpr std::size_t kMostSegments = std::size_t{1} << 12;

}  // namespace

std::size_t segment_for(const Call& call, const Choice& choice, std::size_t bytes, std::size_t ranks,
                        std::size_t eager_limit) noexcept {
  const bool fits = choice.segment > 0 && choice.segment <= eager_limit;
  if (choice.payload != payload::Kind::raw || eager_limit == 0 || fits || call.settings.options.segment > 0)
    return choice.segment;
  // In alltoall and allgather `bytes` is one rank's data, and all ranks' blocks are cut.
  const std::size_t rows = counts_by_pair(call.collective) || call.collective == Collective::alltoall ? ranks : 1;
  return bytes / eager_limit < kMostSegments / rows ? eager_limit : choice.segment;
}

Status fit_segment(const Call& call, std::size_t bytes, std::size_t grain, std::uint32_t messages,
                   std::size_t* segment) noexcept {
  // Each part's end may begin a message more. Any two adjacent short segments exceed one segment.
  const std::size_t all = messages / kMostPasses;
  const std::size_t most = std::max(all - std::min(all, call.settings.parts.size()), all / 2);
  const std::size_t piece = std::max(*segment - *segment % grain, grain);
  if (*segment == 0 || bytes / piece < most) return Status::ok;
  const std::size_t least = (bytes / most / grain + 1) * grain;
  if (call.settings.options.segment > 0)
    return fail(Status::invalid_argument, "segments of {} bytes of {}: too many to be numbered; at least {} bytes each",
                call.settings.options.segment, bytes, least);
  *segment = least;
  return Status::ok;
}

void suit_counts(const Call& c, std::size_t bytes, Choice* choice) {
  if (choice->provider != Provider::schedules || !c.settings.schedule.empty()) return;
  // A rank knows only the lengths of its own blocks.
  if (counts_by_pair(c.collective) &&
      schedule::find(schedule::family(c.collective), choice->schedule)->passes_blocks_on)
    choice->schedule = "linear", choice->why = {.reason = Reason::counts};
  // For any counts a segmented ring takes the time of its busiest link, plus a lap.
  if ((c.collective != Collective::allgatherv && c.collective != Collective::reduce_scatter) || needs_order(c)) return;
  const std::size_t p = c.counts.size(), most = *std::max_element(c.counts.begin(), c.counts.end());
  if (rank_by_rank(c) && choice->payload == payload::Kind::raw) return;
  if (choice->raw_inside || most * stretto_type_size(c.type) < bytes / p * kUneven ||
      bytes < p * kRingSegment * kUneven)
    return;
  choice->schedule = "ring";
  choice->why = {.reason = Reason::counts};
  choice->segment = c.settings.options.segment > 0 ? c.settings.options.segment : kRingSegment;
}

}  // namespace stretto::select
