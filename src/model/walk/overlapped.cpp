#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <queue>

#include "model/comm_cores.hpp"
#include "model/walk/forms.hpp"
#include "model/walk/network.hpp"
#include "model/walk/walks.hpp"

namespace stretto::model {
namespace {

using schedule::Kind;
using schedule::Lane;

class Overlapped {
 public:
  Overlapped(const Programs& programs, const System& system, const Machine& machine, const Run& run)
      : programs_(programs),
        machine_(machine),
        enough_(run.enough),
        work_(run.comm_cores > 0 ? run.work : 0),
        joins_(run.joins),
        cut_{run.segment},
        extents_(run.bytes, programs.blocks, run.grain),
        network_(programs, machine, false),
        comm_cores_(programs.hosts, run.comm_cores) {
    ranks_.reserve(programs.all.size());
    for (const Program& p : programs.all) {
      ranks_.push_back({p, Forms(programs, p, system, machine, extents_, cut_)});
      Rank& r = ranks_.back();
      const bool same_host = ranks_.size() > 1 && programs.all[ranks_.size() - 2].host == p.host;
      r.index = same_host ? ranks_[ranks_.size() - 2].index + 1 : 0;
      r.slots.resize(p.slots.size());
      r.ready.resize(p.acts.size());
      r.left_before = static_cast<std::int32_t>(
          std::count_if(p.acts.begin(), p.acts.end(), [](const Act& a) { return a.lane == Lane::before; }));
      const double first = r.forms.up_front();
      if (first > 0) {
        const Flow made = compute(r, {}, first, 1, core_of(r, Lane::beside));
        for (SlotState& h : r.slots) h.at = {made.tail, made.tail};
      }
    }
  }

  // By earliest start, then by round. Messages of one round pass together, so that rank numbers do not matter, but
  // communication cores take them one by one.
  Prediction walk() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) advance(static_cast<std::int32_t>(r));
    std::vector<Passing> together;
    while (!ready_.empty()) {
      together.clear();
      do {
        together.push_back({ready_.top(), {}, 0});
        ready_.pop();
      } while (!comm_cores_.any() && !ready_.empty() && ready_.top().time == together[0].message.time &&
               ready_.top().level == together[0].message.level);
      for (Passing& p : together) travel(p);
      for (Passing& p : together) {
        leave(p);
        if (p.there.tail > enough_) return {p.there.tail};
      }
      for (const Passing& p : together) arrive(p);
      for (const Passing& p : together) {
        advance(p.message.from);
        if (p.message.to != p.message.from) advance(p.message.to);
      }
    }
    Prediction all;
    for (Rank& r : ranks_) {
      all.seconds = std::max({all.seconds, end_of(r), r.before + work_ * r.program.share});
      all.wire = std::max(all.wire, r.wire);
      all.work = std::max(all.work, r.work);
    }
    return all;
  }

 private:
  struct SlotState {
    Flow at;
    double reading = 0;  // must not be written until then
    std::int32_t writers = 0, readers = 0;
  };
  struct Posted {
    bool there = false;
    Flow ready;
    Parcel parcel{};
  };
  struct Ready {
    std::int64_t time;  // picoseconds
    std::uint32_t level;
    std::int32_t index, from, send, to, receive;
    friend auto operator<=>(const Ready&, const Ready&) = default;
  };
  struct Passing {
    Ready message;
    Flow there;
    double busy;             // seconds of a core at either end
    double* core = nullptr;  // receiving core; null: the receiver's own
  };
  struct Rank {
    const Program& program;
    Forms forms;
    std::vector<SlotState> slots{};
    std::vector<Posted> ready{};
    std::size_t next = 0;
    std::int32_t open = 0;       // issued, incomplete messages
    std::int32_t open_here = 0;  // of these, on `level`
    std::uint32_t level = 0;
    std::int32_t left_before = 0;  // incomplete acts before the work
    double before = 0;
    double core = 0;
    double last = 0;
    double others = 0;  // end of all acts on earlier levels
    double load = 0;    // core time without results
    double wire = 0, work = 0;
    std::int32_t index = 0;
  };

  double& core_of(Rank& r, Lane lane) {
    if (lane != Lane::beside || !comm_cores_.any()) return r.core;
    double& first = comm_cores_.first(r.program.host);
    if (!joins_ || r.left_before > 0) return first;
    const double own = std::max(r.core, work_end(r));
    if (own >= first) return first;
    r.core = own;
    return r.core;
  }
  double work_end(const Rank& r) const { return r.before + work_ * r.program.share; }

  void over_before(Rank& r, const Act& a, double at) const {
    if (a.lane != Lane::before) return;
    --r.left_before;
    r.before = std::max(r.before, at);
  }

  Flow compute(Rank& r, Flow in, double seconds, double pieces, double& core) const {
    const double w = seconds * r.program.share;
    if (w <= 0) {
      r.last = std::max(r.last, in.tail);
      return in;
    }
    const double piece = w / pieces;
    Flow out;
    out.head = std::max(in.head, core) + piece;
    core = std::max(in.head, core) + w;
    out.tail = std::max(in.tail + piece, core);
    r.work += seconds;
    r.load += w;
    r.last = std::max(r.last, out.tail);
    return out;
  }

  // A core's work at either end. Inside a host it overlaps the transfer.
  double moving(const Act& a, double wire, double pieces) const noexcept {
    return a.distance == topology::Distance::network ? machine_.moving(a.distance, wire, pieces) : 0;
  }

  // A long message's rendezvous waits until the receiver polls, between its codec's calls. Raw blocks have none
  // (select::segment_for).
  double pause(const Rank& to, const Act& a, double wire, double pieces) const noexcept {
    const double raw = to.forms.bytes(a);
    const bool waits = a.distance == topology::Distance::network && machine_.eager_limit > 0 && wire < raw &&
                       wire / pieces > machine_.eager_limit;
    return waits ? machine_.codec(machine_.fused, raw / pieces, 1) / 2 * to.program.share : 0;
  }

  // *at: the inputs are ready. False: an earlier message is incomplete.
  bool may_start(const Rank& r, const Act& a, Flow* at) const {
    *at = {};
    if (a.blocks == 0) {  // a signal waits for all other levels
      if (r.open > (a.level == r.level ? r.open_here : 0)) return false;
      const double t = a.level == r.level ? r.others : r.last;
      *at = {t, t};
      return true;
    }
    const auto see = [at](double head, double tail) {
      at->head = std::max(at->head, head);
      at->tail = std::max(at->tail, tail);
    };
    for (std::int32_t i = 0; i < a.slots; ++i) {
      if (a.src >= 0) {
        const SlotState& h = r.slots[static_cast<std::size_t>(a.src + i)];
        if (h.writers > 0) return false;
        see(h.at.head, h.at.tail);
      }
      if (a.dst >= 0) {
        const SlotState& h = r.slots[static_cast<std::size_t>(a.dst + i)];
        if (h.writers > 0 || h.readers > 0) return false;
        see(h.reading, h.reading);
        if (a.kind == Kind::combine) see(h.at.head, h.at.tail);
      }
    }
    return true;
  }

  void set(Rank& r, std::int32_t first, std::int32_t count, Flow at) const {
    for (std::int32_t i = 0; i < count; ++i) r.slots[static_cast<std::size_t>(first + i)].at = at;
  }

  void advance(std::int32_t self) {
    Rank& r = ranks_[static_cast<std::size_t>(self)];
    while (r.next < r.program.acts.size()) {
      const Act& a = r.program.acts[r.next];
      Flow at;
      if (!may_start(r, a, &at)) return;
      if (a.lane == Lane::after) {
        if (r.left_before > 0) return;
        at = {std::max(at.head, work_end(r)), std::max(at.tail, work_end(r))};
      }
      const auto index = static_cast<std::int32_t>(r.next++);
      if (a.level != r.level) {
        r.level = a.level;
        r.open_here = 0;
        r.others = r.last;
      }
      if (a.peer < 0) {
        const double pieces = r.forms.pieces(a);
        const double seconds = r.forms.local(a);
        const Flow made =
            a.kind == Kind::copy ? at : compute(r, at, seconds + pieces * machine_.step, pieces, core_of(r, a.lane));
        set(r, a.dst, a.slots, made);
        over_before(r, a, made.tail);
      } else if (a.blocks == 0 || r.forms.bytes(a) > 0) {
        issue(r, self, index, at);
      } else {
        over_before(r, a, 0);
      }
    }
  }

  void issue(Rank& r, std::int32_t self, std::int32_t index, Flow at) {
    const Act& a = r.program.acts[static_cast<std::size_t>(index)];
    Posted& own = r.ready[static_cast<std::size_t>(index)];
    if (a.kind == Kind::send) {
      const double pieces = r.forms.pieces(a);
      const double seconds = r.forms.pack(a, &own.parcel);
      at = compute(r, at, seconds + pieces * machine_.step + moving(a, own.parcel.wire, pieces), pieces,
                   core_of(r, a.lane));
      if (seconds > 0) set(r, a.src, a.slots, at);
      r.wire += own.parcel.wire;
    }
    own.there = true;
    own.ready = at;
    ++r.open;
    ++r.open_here;
    for (std::int32_t i = 0; i < a.slots; ++i) {
      if (a.kind == Kind::send)
        r.slots[static_cast<std::size_t>(a.src + i)].readers += r.forms.keeps_buffer(a) ? 1 : 0;
      else
        ++r.slots[static_cast<std::size_t>(a.dst + i)].writers;
    }
    const Posted& other = ranks_[static_cast<std::size_t>(a.peer)].ready[static_cast<std::size_t>(a.partner)];
    if (!other.there) return;
    Ready both{0, a.level, 0, self, index, a.peer, a.partner};
    if (a.kind != Kind::send) both = {0, a.level, 0, a.peer, a.partner, self, index};
    both.index = ranks_[static_cast<std::size_t>(both.from)].index;
    both.time = std::llround(std::max(own.ready.head, other.ready.head) * 1e12);
    ready_.push(both);
  }

  void over(Rank& r, const Act& a, double at) const {
    over_before(r, a, at);
    --r.open;
    if (a.level == r.level) --r.open_here;
  }

  const Act& sent(const Ready& m) const {
    return programs_.all[static_cast<std::size_t>(m.from)].acts[static_cast<std::size_t>(m.send)];
  }
  const Act& got(const Ready& m) const {
    return programs_.all[static_cast<std::size_t>(m.to)].acts[static_cast<std::size_t>(m.receive)];
  }

  void travel(Passing& p) {
    const Ready& m = p.message;
    Rank& s = ranks_[static_cast<std::size_t>(m.from)];
    Rank& d = ranks_[static_cast<std::size_t>(m.to)];
    const Posted& out = s.ready[static_cast<std::size_t>(m.send)];
    const double pieces = s.forms.pieces(sent(m));
    const double posted = d.ready[static_cast<std::size_t>(m.receive)].ready.head;
    if (got(m).lane == Lane::beside && comm_cores_.any()) {
      p.core = &core_of(d, Lane::beside);
      const Flow ready{std::max(out.ready.head, *p.core), std::max(out.ready.tail, *p.core)};
      p.there = network_.pass(sent(m), m.from, m.to, out.parcel.wire, pieces, ready, posted, &p.busy);
      *p.core = p.there.tail;
      p.busy = 0;
      return;
    }
    p.there = network_.pass(sent(m), m.from, m.to, out.parcel.wire, pieces, out.ready, posted, &p.busy,
                            pause(d, got(m), out.parcel.wire, pieces));
    if (sent(m).distance == topology::Distance::network) p.busy = 0;
    if (p.busy <= 0) return;
    const double begun = p.there.head;
    for (Rank* r : {&s, &d}) {
      const double moving = p.busy * r->program.share;
      r->core = std::max(r->core, begun - moving / pieces) + moving;
      r->load += moving;
    }
  }

  void leave(Passing& p) {
    const Ready& m = p.message;
    Rank& s = ranks_[static_cast<std::size_t>(m.from)];
    if (p.busy > 0) p.there.tail = std::max({p.there.tail, s.core, ranks_[static_cast<std::size_t>(m.to)].core});
    s.last = std::max(s.last, p.there.tail);
    if (sent(m).level != s.level) s.others = std::max(s.others, p.there.tail);
    for (std::int32_t i = 0; i < sent(m).slots && s.forms.keeps_buffer(sent(m)); ++i) {
      SlotState& h = s.slots[static_cast<std::size_t>(sent(m).src + i)];
      --h.readers;
      h.reading = std::max(h.reading, p.there.tail);
    }
    over(s, sent(m), p.there.tail);
  }

  void arrive(const Passing& p) {
    const Ready& m = p.message;
    Rank& d = ranks_[static_cast<std::size_t>(m.to)];
    const Act& a = got(m);
    Flow in = p.there;
    if (a.kind == Kind::recv_combine) {
      for (std::int32_t i = 0; i < a.slots; ++i) {
        const SlotState& h = d.slots[static_cast<std::size_t>(a.dst + i)];
        in.head = std::max(in.head, h.at.head);
        in.tail = std::max(in.tail, h.at.tail);
      }
    }
    const double pieces = d.forms.pieces(a);
    const double contributions =
        ranks_[static_cast<std::size_t>(m.from)].ready[static_cast<std::size_t>(m.send)].parcel.contributions;
    const double wire = ranks_[static_cast<std::size_t>(m.from)].ready[static_cast<std::size_t>(m.send)].parcel.wire;
    const double work = d.forms.take(a, contributions) + moving(sent(m), wire, pieces);
    const Flow made = compute(d, in, work + pieces * machine_.step, pieces, p.core != nullptr ? *p.core : d.core);
    if (a.level != d.level) d.others = std::max(d.others, made.tail);
    for (std::int32_t i = 0; i < a.slots; ++i) {
      SlotState& h = d.slots[static_cast<std::size_t>(a.dst + i)];
      --h.writers;
      h.at = made;
    }
    over(d, a, made.tail);
  }

  // Results are decoded one by one when the core is idle.
  double end_of(Rank& r) {
    struct Result {
      Flow at;
      double seconds, tail;
    };
    std::vector<Result> results;
    double sum = 0;
    for (std::size_t s = 0; s < r.slots.size(); ++s) {
      if (!r.program.slots[s].expected) continue;
      const double seconds = r.forms.deliver(static_cast<std::int32_t>(s));
      r.work += seconds;
      if (seconds <= 0) continue;
      sum += seconds * r.program.share;
      // Blocks of one message are decoded in order of arrival.
      const Extent& n = r.forms.extent(static_cast<std::int32_t>(s));
      const double all = seconds * r.program.share;
      results.push_back({r.slots[s].at, all, all * ((n.blocks - 1) / n.blocks + 1 / n.pieces)});
    }
    std::sort(results.begin(), results.end(), [](const Result& a, const Result& b) { return a.at.head < b.at.head; });
    double decoded = 0;
    for (const Result& result : results)
      decoded = std::max(std::max(decoded, result.at.head) + result.seconds, result.at.tail + result.tail);
    return std::max({r.last, decoded, results.empty() ? 0 : r.load + sum});
  }

  const Programs& programs_;
  const Machine& machine_;
  const double enough_;
  const double work_;
  const bool joins_;
  const Cut cut_;
  const Extents extents_;
  Network network_;
  CommCores comm_cores_;
  std::vector<Rank> ranks_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
};

}  // namespace

Prediction walk_overlapped(const Programs& programs, const System& system, const Machine& machine, const Run& run) {
  return Overlapped(programs, system, machine, run).walk();
}

}  // namespace stretto::model
