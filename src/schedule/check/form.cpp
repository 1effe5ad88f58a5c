#include "schedule/check/form.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "schedule/check/dependencies.hpp"
#include "schedule/check/replay.hpp"
#include "schedule/names.hpp"

namespace stretto::schedule {
namespace {

bool local(Kind k) { return k == Kind::copy || k == Kind::combine; }

bool right_number_of_blocks(const Schedule& s) {
  switch (s.collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::bcast:
    case Collective::scan:
    case Collective::exscan: return s.blocks >= 1;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv: return s.blocks == s.ranks;
    case Collective::alltoall:
    case Collective::alltoallv: return s.blocks == s.ranks * s.ranks;
    case Collective::barrier:
    case Collective::agreement: return s.blocks == 0;
  }
  return false;
}

Status check_range(std::span<const Schedule> all, Place place, const Range& range) {
  const Schedule& s = all[static_cast<std::size_t>(place.rank)];
  const std::int64_t end = std::int64_t{range.first} + range.count;
  if (range.first < 0 || range.count < 0 || end > s.blocks) {
    return fail(Status::internal, "{}: blocks {}+{} of a vector of {}", describe(all, place), range.first, range.count,
                s.blocks);
  }
  if (range.buffer != Buffer::out) return Status::ok;
  for (std::int32_t b = range.first; b < end; ++b) {
    if (!expects(s.collective, s.ranks, s.root, s.rank, b)) {
      return fail(Status::internal, "{}: rank {} has no block {} in out", describe(all, place), s.rank, b);
    }
  }
  return Status::ok;
}

Status check_step(std::span<const Schedule> all, Place place) {
  const Schedule& s = all[static_cast<std::size_t>(place.rank)];
  const Step& step = s.steps[static_cast<std::size_t>(place.step)];
  if (local(step.kind)) {
    if (step.peer != -1)
      return fail(Status::internal, "{}: a local step with peer {}", describe(all, place), step.peer);
    if (step.dst.first != step.src.first || step.dst.count != step.src.count || step.dst.buffer == step.src.buffer) {
      return fail(Status::internal, "{}: a local step takes the same blocks of two buffers", describe(all, place));
    }
  } else if (step.peer < 0 || step.peer >= s.ranks || step.peer == s.rank) {
    return fail(Status::internal, "{}: {} is no peer", describe(all, place), step.peer);
  }
  const Range reads = read_by(step);
  const Range writes = written_by(step);
  if ((reads.count == 0 && writes.count == 0) != (s.collective == Collective::barrier)) {
    return fail(Status::internal, "{}: a signal among data, or data in a barrier", describe(all, place));
  }
  if (writes.count > 0 && writes.buffer == Buffer::in) {
    return fail(Status::internal, "{}: writes block {} of in", describe(all, place), writes.first);
  }
  if (const Status r = check_range(all, place, reads); r != Status::ok) return r;
  return check_range(all, place, writes);
}

}  // namespace

Status check_form(std::span<const Schedule> all) {
  if (all.empty()) return fail(Status::invalid_argument, "no schedules to check");
  const Schedule& first = all.front();
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Schedule& s = all[r];
    const auto identity = [](const Schedule& x) {
      return std::tie(x.collective, x.algorithm, x.ranks, x.root, x.blocks, x.keeps_order, x.ranks_differ);
    };
    if (identity(s) != identity(first) || static_cast<std::size_t>(s.ranks) != all.size()) {
      return fail(Status::internal, "{} {} of {} ranks: rank {} of {} has another schedule", name(first.collective),
                  first.algorithm, first.ranks, r, all.size());
    }
    if (static_cast<std::size_t>(s.rank) != r || s.root < 0 || s.root >= s.ranks || !right_number_of_blocks(s)) {
      return fail(Status::internal, "{} {} of {} ranks: the schedule of rank {} says rank {}, root {}, {} blocks",
                  name(s.collective), s.algorithm, s.ranks, r, s.rank, s.root, s.blocks);
    }
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Place place{static_cast<std::int32_t>(r), static_cast<std::int32_t>(i)};
      if (const Status bad = check_step(all, place); bad != Status::ok) return bad;
    }
  }
  return Status::ok;
}

Status check_levels(std::span<const Schedule> all) {
  struct Use {
    std::uint32_t level;
    Range range;
    bool writes;
    std::int32_t step;
  };
  std::vector<Use> uses;
  for (const Schedule& s : all) {
    uses.clear();
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Step& step = s.steps[i];
      if (local(step.kind)) continue;
      const bool writes = written_by(step).count > 0;
      const Range range = writes ? written_by(step) : read_by(step);
      if (range.count > 0) uses.push_back({step.level, range, writes, static_cast<std::int32_t>(i)});
    }
    const auto place = [](const Use& u) { return std::tuple(u.level, u.range.buffer, u.range.first); };
    std::sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return place(a) < place(b); });
    // On a level: the step, and the writing step, whose blocks end last.
    const Use* longest = nullptr;
    const Use* writer = nullptr;
    const auto overlaps = [&](const Use* a, const Use& b) {
      return a != nullptr && a->level == b.level && a->range.buffer == b.range.buffer &&
             a->range.first + a->range.count > b.range.first;
    };
    const auto reaches_further = [](const Use& a, const Use& b) {
      return a.range.first + a.range.count > b.range.first + b.range.count;
    };
    for (const Use& use : uses) {
      const Use* other = use.writes && overlaps(longest, use) ? longest : (overlaps(writer, use) ? writer : nullptr);
      if (other != nullptr) {
        return fail(Status::internal, "{} has block {} in flight with step {} on the same level",
                    describe(all, {s.rank, use.step}), use.range.first, other->step);
      }
      if (!overlaps(longest, use) || reaches_further(use, *longest)) longest = &use;
      if (use.writes && (!overlaps(writer, use) || reaches_further(use, *writer))) writer = &use;
    }
  }
  return Status::ok;
}

Status check_in_place(std::span<const Schedule> all) {
  const Collective c = all.front().collective;
  if (c == Collective::alltoall || c == Collective::reduce_scatter) return Status::ok;
  std::vector<std::int32_t> reader;  // step that reads the block in `in`, except its copy to out; or -1
  std::vector<std::int32_t> writer;  // latest step that writes the block in out, except that copy; or -1
  for (const Schedule& s : all) {
    reader.assign(static_cast<std::size_t>(s.blocks), -1);
    writer.assign(static_cast<std::size_t>(s.blocks), -1);
    const auto copies_in_to_out = [](const Step& step) {
      return step.kind == Kind::copy && step.src.buffer == Buffer::in && step.dst.buffer == Buffer::out &&
             step.src.first == step.dst.first;
    };
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Range reads = read_by(s.steps[i]);
      if (reads.buffer != Buffer::in || copies_in_to_out(s.steps[i])) continue;
      std::fill_n(reader.begin() + reads.first, reads.count, static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Range writes = written_by(s.steps[i]);
      if (writes.buffer != Buffer::out) continue;
      const bool copies = copies_in_to_out(s.steps[i]);
      for (std::int32_t b = writes.first; b < writes.first + writes.count; ++b) {
        const auto block = static_cast<std::size_t>(b);
        if (copies && writer[block] >= 0)
          return fail(Status::internal,
                      "{} reads block {} of `in`, which step {} has written in out: not possible in place",
                      describe(all, {s.rank, static_cast<std::int32_t>(i)}), b, writer[block]);
        if (copies) continue;
        if (reader[block] >= 0)
          return fail(Status::internal, "{} writes block {} of out, which step {} reads in `in`: not possible in place",
                      describe(all, {s.rank, static_cast<std::int32_t>(i)}), b, reader[block]);
        writer[block] = static_cast<std::int32_t>(i);
      }
    }
  }
  return Status::ok;
}

}  // namespace stretto::schedule
