#include "schedule/check/checker.hpp"

#include <unordered_map>
#include <vector>

#include "schedule/check/form.hpp"
#include "schedule/check/replay.hpp"
#include "schedule/check/symbolic.hpp"
#include "schedule/names.hpp"

namespace stretto::schedule {
namespace {

class Memory {
 public:
  explicit Memory(std::span<const Schedule> all) : all_(all), brackets_(all.front().ranks), cells_(all.size()) {
    for (const Schedule& s : all) {
      for (const Step& step : s.steps) {
        if (step.kind == Kind::recv_replace || step.kind == Kind::recv_combine) continue;
        if (step.src.buffer == Buffer::in) hand_out(s, step.src);
      }
    }
  }

  Status apply(Place place, Place sender) {
    const Step& step = at(place);
    const Place source = sender.rank >= 0 ? sender : place;
    const Range& from = at(source).src;
    const bool combines = step.kind == Kind::recv_combine || step.kind == Kind::combine;
    for (std::int32_t b = from.first; b < from.first + from.count; ++b) {
      const Cell* other = find(source.rank, from.buffer, b);
      if (other == nullptr) return never_written(source, from.buffer, b);
      if (!combines) {
        cells_[static_cast<std::size_t>(place.rank)][key(step.dst.buffer, b)] = *other;
        continue;
      }
      Cell* own = find(place.rank, step.dst.buffer, b);
      if (own == nullptr) return never_written(place, step.dst.buffer, b);
      Contributions& sum = own->whose;
      const Contributions& incoming = other->whose;
      if (const std::int32_t twice = sum.shared(incoming); twice >= 0) {
        return fail(Status::internal, "{}: block {} has the contribution of rank {} already; {} meets {}",
                    describe(all_, place), b, twice, sum.text(), incoming.text());
      }
      const bool in_order = step.incoming_first ? incoming.precedes(sum) : sum.precedes(incoming);
      if (all_.front().keeps_order && !in_order) {
        return fail(Status::internal, "{}: block {} combines contributions out of rank order; {} with incoming {} {}",
                    describe(all_, place), b, sum.text(), incoming.text(), step.incoming_first ? "first" : "behind");
      }
      sum.add(incoming);
      own->sum = brackets_.combined(own->sum, other->sum);
    }
    return Status::ok;
  }

  Status check_results() const {
    for (const Schedule& s : all_) {
      for (std::int32_t b = 0; b < s.blocks; ++b) {
        if (!expects(s.collective, s.ranks, s.root, s.rank, b)) continue;
        const auto cell = cells_[static_cast<std::size_t>(s.rank)].find(key(Buffer::out, b));
        const bool written = cell != cells_[static_cast<std::size_t>(s.rank)].end();
        const Contributions expected = result(s, b);
        if (written && cell->second.whose == expected) continue;
        return fail(Status::internal,
                    "{} {} of {} ranks: rank {} ends after step {} with block {} of contributions {} instead of {}",
                    name(s.collective), s.algorithm, s.ranks, s.rank, static_cast<int>(s.steps.size()) - 1, b,
                    written ? cell->second.whose.text() : "none", expected.text());
      }
    }
    const bool one_sum = !all_.front().ranks_differ && !is_prefix(all_.front().collective);
    return one_sum ? check_brackets() : Status::ok;
  }

 private:
  using Key = std::int64_t;
  static Key key(Buffer buffer, std::int32_t block) { return std::int64_t{block} * 4 + static_cast<int>(buffer); }

  struct Cell {
    Contributions whose;
    Brackets::Sum sum = 0;
  };

  Status check_brackets() const {
    const Schedule& first = all_.front();
    for (std::int32_t b = 0; b < first.blocks; ++b) {
      const Cell* model = nullptr;
      std::int32_t model_rank = -1;
      for (const Schedule& s : all_) {
        if (!expects(s.collective, s.ranks, s.root, s.rank, b)) continue;
        const Cell& cell = cells_[static_cast<std::size_t>(s.rank)].find(key(Buffer::out, b))->second;
        if (model == nullptr) {
          model = &cell;
          model_rank = s.rank;
        } else if (cell.sum != model->sum) {
          return fail(Status::internal,
                      "{} {} of {} ranks: rank {} ends after step {} with block {} bracketed {}, but rank {} {}: ranks "
                      "would have different bits",
                      name(s.collective), s.algorithm, s.ranks, s.rank, static_cast<int>(s.steps.size()) - 1, b,
                      brackets_.text(cell.sum), model_rank, brackets_.text(model->sum));
        }
      }
    }
    return Status::ok;
  }

  const Step& at(Place place) const {
    return all_[static_cast<std::size_t>(place.rank)].steps[static_cast<std::size_t>(place.step)];
  }

  void hand_out(const Schedule& s, const Range& range) {
    for (std::int32_t b = range.first; b < range.first + range.count; ++b) {
      if (!holds(s.collective, s.ranks, s.root, s.rank, b)) continue;
      cells_[static_cast<std::size_t>(s.rank)].try_emplace(key(Buffer::in, b),
                                                           Cell{Contributions(s.rank), brackets_.contribution(s.rank)});
    }
  }

  Cell* find(std::int32_t rank, Buffer buffer, std::int32_t block) {
    auto& cells = cells_[static_cast<std::size_t>(rank)];
    const auto cell = cells.find(key(buffer, block));
    return cell == cells.end() ? nullptr : &cell->second;
  }

  Status never_written(Place place, Buffer buffer, std::int32_t block) const {
    return fail(Status::internal, "{}: block {} of {} holds nothing yet", describe(all_, place), block, name(buffer));
  }

  static Contributions result(const Schedule& s, std::int32_t block) {
    switch (s.collective) {
      case Collective::allreduce:
      case Collective::allreduce_multi:
      case Collective::reduce:
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block: return Contributions::of_first(s.ranks);
      case Collective::scan: return Contributions::of_first(s.rank + 1);
      case Collective::exscan: return Contributions::of_first(s.rank);
      case Collective::allgather:
      case Collective::allgatherv:
      case Collective::gather:
      case Collective::gatherv: return Contributions(block);
      case Collective::bcast:
      case Collective::scatter:
      case Collective::scatterv: return Contributions(s.root);
      case Collective::alltoall:
      case Collective::alltoallv: return Contributions(block / s.ranks);
      case Collective::barrier:
      case Collective::agreement: break;
    }
    return {};
  }

  std::span<const Schedule> all_;
  Brackets brackets_;
  std::vector<std::unordered_map<Key, Cell>> cells_;
};

// A send may end early, so messages carry knowledge to receivers only.
class Knowledge {
 public:
  Knowledge(std::span<const Schedule> all, const Replay& replay) : all_(all), replay_(replay), after_(all.size()) {
    for (std::size_t r = 0; r < all.size(); ++r) after_[r].assign(all[r].steps.size(), Set(all.size(), false));
  }

  Status apply(Place place, Place sender) {
    if (sender.rank >= 0) gather(sender);
    gather(place);
    if (sender.rank >= 0) join(of(place), of(sender));
    return Status::ok;
  }

  Status check_results() {
    for (const Schedule& s : all_) {
      Set known(all_.size(), false);
      known[static_cast<std::size_t>(s.rank)] = true;
      for (const Set& set : after_[static_cast<std::size_t>(s.rank)]) join(known, set);
      for (std::size_t r = 0; r < known.size(); ++r) {
        if (known[r]) continue;
        return fail(Status::internal,
                    "{} {} of {} ranks: rank {} may finish (after step {}) before rank {} has started",
                    name(s.collective), s.algorithm, s.ranks, s.rank, static_cast<int>(s.steps.size()) - 1, r);
      }
    }
    return Status::ok;
  }

 private:
  using Set = std::vector<bool>;

  Set& of(Place place) { return after_[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.step)]; }
  static void join(Set& set, const Set& other) {
    for (std::size_t r = 0; r < set.size(); ++r) {
      if (other[r]) set[r] = true;
    }
  }
  void gather(Place place) {
    of(place)[static_cast<std::size_t>(place.rank)] = true;
    for (const std::int32_t e : replay_.dependencies(place.rank).of(static_cast<std::size_t>(place.step))) {
      join(of(place), of({place.rank, e}));
    }
  }

  std::span<const Schedule> all_;
  const Replay& replay_;
  std::vector<std::vector<Set>> after_;
};

// No step waits for a later lane. Replay::match checks messages.
Status check_lanes(std::span<const Schedule> all, const Replay& replay) {
  for (const Schedule& s : all) {
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      for (const std::int32_t e : replay.dependencies(s.rank).of(i)) {
        const Lane own = s.steps[i].lane, earlier = s.steps[static_cast<std::size_t>(e)].lane;
        if (earlier > own)
          return fail(Status::internal, "{}, which is {} the work, waits for step {}, which is {} it",
                      describe(all, {s.rank, static_cast<std::int32_t>(i)}), name(own), e, name(earlier));
      }
    }
  }
  return Status::ok;
}

template <class Model>
Status run(Replay& replay, Model& model) {
  const Status ran = replay.run([&](Place place, Place sender) { return model.apply(place, sender); });
  return ran != Status::ok ? ran : model.check_results();
}

}  // namespace

Status check(std::span<const Schedule> all) {
  if (const Status s = check_form(all); s != Status::ok) return s;
  if (const Status s = check_levels(all); s != Status::ok) return s;
  if (const Status s = check_in_place(all); s != Status::ok) return s;
  Replay replay(all);
  if (const Status s = replay.match(); s != Status::ok) return s;
  if (const Status s = check_lanes(all, replay); s != Status::ok) return s;
  if (all.front().collective == Collective::barrier) {
    Knowledge knowledge(all, replay);
    return run(replay, knowledge);
  }
  Memory memory(all);
  return run(replay, memory);
}

}  // namespace stretto::schedule
