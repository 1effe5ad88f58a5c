#include <algorithm>

#include "model/walk/forms.hpp"
#include "model/walk/network.hpp"
#include "model/walk/walks.hpp"

namespace stretto::model {
namespace {

using schedule::Kind;

bool is_message(const Act& a) noexcept { return a.peer >= 0; }

class Rounds {
 public:
  Rounds(const Programs& programs, const System& system, const Machine& machine, const Run& run)
      : system_(system), extents_(run.bytes, programs.blocks, run.grain), network_(programs, machine, true) {
    for (const Program& p : programs.all) {
      ranks_.push_back({p, Forms(programs, p, system, machine, extents_, cut_)});
      Rank& r = ranks_.back();
      for (std::size_t i = 0; i < p.acts.size(); ++i) r.order.push_back(static_cast<std::int32_t>(i));
      std::stable_sort(r.order.begin(), r.order.end(), [&](std::int32_t a, std::int32_t b) {
        return p.acts[static_cast<std::size_t>(a)].level < p.acts[static_cast<std::size_t>(b)].level;
      });
      r.arrived.assign(p.acts.size(), 0);
      r.parcels.resize(p.acts.size());
      const bool same_host = ranks_.size() > 1 && ranks_[ranks_.size() - 2].program.host == p.host;
      r.index = same_host ? ranks_[ranks_.size() - 2].index + 1 : 0;
      order_.push_back(static_cast<std::int32_t>(order_.size()));
    }
    std::stable_sort(order_.begin(), order_.end(), [this](std::int32_t a, std::int32_t b) {
      return ranks_[static_cast<std::size_t>(a)].index < ranks_[static_cast<std::size_t>(b)].index;
    });
  }

  Prediction walk() {
    for (Rank& r : ranks_) {
      work(r, r.forms.up_front());
      for (std::size_t s = 0; s < r.program.slots.size(); ++s)
        if (r.program.slots[s].last_write < 0 && r.program.slots[s].expected)
          work(r, r.forms.deliver(static_cast<std::int32_t>(s)));
    }
    while (begin_round()) {
      for (const std::int32_t r : order_) exchange(ranks_[static_cast<std::size_t>(r)]);
      for (Rank& r : ranks_) finish_round(r);
    }
    Prediction all;
    for (Rank& r : ranks_) {
      all.seconds = std::max(all.seconds, r.now + r.beside);
      all.wire = std::max(all.wire, r.wire);
      all.work = std::max(all.work, r.work);
    }
    return all;
  }

 private:
  struct Rank {
    const Program& program;
    Forms forms;
    std::vector<std::int32_t> order{};
    std::size_t begin = 0, end = 0;
    std::size_t next = 0;
    std::vector<double> arrived{};
    std::vector<Parcel> parcels{};
    double now = 0, wire = 0, work = 0;
    double beside = 0;  // end of work that overlaps messages
    std::int32_t index = 0;
    double sent = 0;
  };

  const Act& act(const Rank& r, std::size_t at) const { return r.program.acts[static_cast<std::size_t>(r.order[at])]; }
  void work(Rank& r, double seconds) const {
    r.now += seconds * r.program.share;
    r.work += seconds;
  }

  // Local steps, and work on data to send. False: no round is left.
  bool begin_round() {
    std::uint32_t level = UINT32_MAX;
    for (Rank& r : ranks_)
      if (r.end < r.order.size()) level = std::min(level, act(r, r.end).level);
    if (level == UINT32_MAX) return false;
    for (Rank& r : ranks_) {
      r.begin = r.next = r.end;
      while (r.end < r.order.size() && act(r, r.end).level == level) ++r.end;
      while (r.next < r.end && !is_message(act(r, r.next))) local(r, r.next++);
      for (std::size_t i = r.next; i < r.end; ++i) {
        if (act(r, i).kind != Kind::send) continue;
        Parcel& parcel = r.parcels[static_cast<std::size_t>(r.order[i])];
        work(r, r.forms.pack(act(r, i), &parcel));
        r.wire += parcel.wire;
      }
      r.sent = r.now;
    }
    return true;
  }

  void exchange(Rank& r) {
    const auto self = static_cast<std::int32_t>(&r - ranks_.data());
    for (std::size_t i = r.next; i < r.end; ++i) {
      const Act& a = act(r, i);
      if (a.kind != Kind::send || (a.blocks > 0 && r.forms.bytes(a) <= 0)) continue;
      Rank& to = ranks_[static_cast<std::size_t>(a.peer)];
      const Parcel& parcel = r.parcels[static_cast<std::size_t>(r.order[i])];
      double busy = 0;
      const Flow there = network_.pass(a, self, a.peer, parcel.wire, 1, {r.now, r.now}, to.now, &busy);
      to.parcels[static_cast<std::size_t>(a.partner)] = parcel;
      to.arrived[static_cast<std::size_t>(a.partner)] = there.tail + busy * to.program.share;
      r.sent = std::max(r.sent, there.tail + busy * r.program.share);
    }
  }

  void finish_round(Rank& r) {
    double end = r.sent;
    bool messages = false;
    for (std::size_t i = r.next; i < r.end; ++i) {
      if (!is_message(act(r, i))) continue;
      messages = true;
      if (act(r, i).kind != Kind::send) end = std::max(end, r.arrived[static_cast<std::size_t>(r.order[i])]);
    }
    if (messages) {
      r.now = std::max(end, r.now + r.beside);
      r.beside = 0;
    }
    for (std::size_t i = r.next; i < r.end; ++i) {
      const Act& a = act(r, i);
      if (a.kind == Kind::send) continue;
      if (!is_message(a)) {
        local(r, i);
        continue;
      }
      work(r, r.forms.take(a, r.parcels[static_cast<std::size_t>(r.order[i])].contributions));
      written(r, i);
    }
  }

  void local(Rank& r, std::size_t at) {
    work(r, r.forms.local(act(r, at)));
    written(r, at);
  }

  // Decodes results at once; a combined result that others wait for, while it travels.
  void written(Rank& r, std::size_t at) {
    const Act& a = act(r, at);
    for (std::int32_t i = 0; i < a.slots; ++i) {
      const Slot& slot = r.program.slots[static_cast<std::size_t>(a.dst + i)];
      if (!slot.expected || slot.last_write != r.order[at]) continue;
      const double seconds = r.forms.deliver(a.dst + i);
      const bool others_wait = a.kind != Kind::recv_replace && r.end < r.order.size();
      if (system_.own_beside && others_wait) {
        r.beside += seconds * r.program.share;
        r.work += seconds;
      } else {
        work(r, seconds);
      }
    }
  }

  const System& system_;
  const Cut cut_{};
  const Extents extents_;
  Network network_;
  std::vector<Rank> ranks_;
  std::vector<std::int32_t> order_;
};

}  // namespace

Prediction walk_in_rounds(const Programs& programs, const System& system, const Machine& machine, const Run& run) {
  return Rounds(programs, system, machine, run).walk();
}

}  // namespace stretto::model
