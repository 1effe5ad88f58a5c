#include "backend/node.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include "backend/buffers.hpp"
#include "backend/schedule_cache.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "base/waiting.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "node/collectives/bounded.hpp"
#include "node/group/started.hpp"
#include "node/group/watched.hpp"
#include "node/tree/tree.hpp"
#include "schedule/registry.hpp"

namespace stretto::backend {

using namespace call;

namespace {

bool combines(const Call& c) noexcept {
  return c.op != STRETTO_DIFFERENCE && payload::defined(payload_op(c.op), payload_type(c.type));
}

bool even(const std::vector<std::size_t>& counts) noexcept {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

bool has_streams_of(const Call& c) noexcept {
  const Collective f = schedule::family(c.collective);
  const bool moves = f == Collective::allgather || f == Collective::bcast;
  return reduces(f) ? c.op == STRETTO_SUM || c.op == STRETTO_MEAN || c.op == STRETTO_MIN || c.op == STRETTO_MAX : moves;
}

bool may_add_codes(stretto_payload p) noexcept { return p == STRETTO_PAYLOAD_AUTO || adds_codes(p); }

struct Lane {
  explicit Lane(node::Collectives& of)
      : patience(of.group().patience()), collectives(of.beside()), started(patience_of(*collectives)) {
    CommunicationCores::mine().attach(started);
  }
  ~Lane() { CommunicationCores::mine().detach(started); }

  // Drivers of started calls do not call the MPI.
  static node::Patience& patience_of(node::Collectives& c) noexcept {
    node::Patience& p = c.group().patience();
    p.progress = nullptr;
    return p;
  }

  const node::Patience& patience;
  std::unique_ptr<node::Collectives> collectives;
  ScheduleCache trees;
  node::Started started;
};

bool goes_up(Collective c) noexcept { return c == Collective::reduce || c == Collective::gather; }
bool goes_down(Collective c) noexcept { return c == Collective::bcast || c == Collective::scatter; }

class Node final : public NodeBackend {
 public:
  Node(std::unique_ptr<node::Collectives> c, const schedule::Groups& groups)
      : node_(std::move(c)), bounded_(node_->group()), groups_(groups) {}

  const char* name() const noexcept override { return kNodeName; }

  // Started calls exclude the program's functions, which expect its stack.
  bool suits(const Call& c) const noexcept override {
    if (c.nonblocking && reduces(c.collective) && c.op == STRETTO_USER) return false;
    switch (c.collective) {
      case Collective::allreduce:
      case Collective::reduce:
      case Collective::reduce_scatter_block: return combines(c);
      case Collective::reduce_scatter: return combines(c) && even(c.counts);
      case Collective::allgather:
      case Collective::bcast:
      case Collective::scatter:
      case Collective::gather:
      case Collective::alltoall:
      case Collective::barrier: return true;
      case Collective::allreduce_multi:
      case Collective::allgatherv:
      case Collective::scatterv:
      case Collective::gatherv:
      case Collective::alltoallv:
      case Collective::scan:
      case Collective::exscan:
      case Collective::agreement: return false;
    }
    return false;
  }

  bool serves(const Call& c) const noexcept override { return !over_ && suits(c); }

  bool starts(const Call&) const noexcept override { return false; }

  bool streams(const Call& c) const noexcept override {
    const stretto_options& o = c.settings.options;
    return serves(c) && !c.nonblocking && c.settings.parts.empty() && o.bound_kind != STRETTO_BOUND_NONE &&
           may_add_codes(o.payload) && is_floating(c.type) && has_streams_of(c);
  }

  Status run(const Call& c, const Decision& d, engine::Report* ran) noexcept override {
    if (d.streams()) return run_streams(c, d, ran);
    node::Combination o = operation_of(shape_of(c));
    if (o.op == payload::Op::user) o.user = user_function(c);
    return run_in(*node_, shape_of(c), c.send, c.recv, o, c.settings.options.timeout);
  }

  bool has_tree(const Call& c, std::string_view schedule) const noexcept override {
    if (!goes_up(c.collective) && !goes_down(c.collective)) return false;
    const schedule::Algorithm* const tree = schedule::find(c.collective, schedule);
    return tree != nullptr && tree->uses_split;
  }

  bool moves(const Call& c, const Decision& d) const noexcept override {
    if (!d.made || d.choice.provider == Provider::node) return d.made;
    if (d.choice.provider != Provider::schedules || d.streams() || d.needs.values()) return false;
    return c.nonblocking && c.device == nullptr && serves(c) && has_tree(c, d.choice.schedule);
  }

  Status begin(const Call& c, const Decision& d, std::optional<std::uint64_t> word, bool runs,
               std::unique_ptr<Meeting>* meeting) noexcept override {
    return guarded("to start a collective in a host's memory", [&] {
      if (!lane_) lane_ = std::make_unique<Lane>(*node_);
      auto made = std::make_unique<StartedCall>(*lane_, c, word, runs);
      if (runs && d.choice.provider == Provider::schedules) made->by_tree(d.choice, groups_);
      lane_->started.start(*made);
      CommunicationCores::mine().wake();
      *meeting = std::move(made);
      return Status::ok;
    });
  }

  std::unique_ptr<PreparedCall> prepare(const Call& c, const Decision&) noexcept override {
    const Shape s = shape_of(c);
    return std::unique_ptr<PreparedCall>(new (std::nothrow) Prepared(*this, s));
  }

  Status agree(std::uint64_t value, double timeout, bool* same) noexcept override {
    be_patient(*node_, timeout);
    const Status s = node_->agree(value, same);
    over_ = over_ || s == Status::incompatible;
    return s;
  }

  void give_up(Status status) noexcept override {
    over_ = true;
    static_cast<void>(node_->group().give_up_all(status));  // also ends waits of started calls
  }
  void end_lead() noexcept override {
    if (lane_) lane_->started.end_lead();
  }
  void started() noexcept override { node_->group().began(); }
  bool differed() const noexcept override {
    return node_->group().differed() || (lane_ && lane_->collectives->group().differed());
  }
  std::atomic<std::uint32_t>& messages_sent() noexcept override { return node_->group().messages_sent(); }
  std::function<std::string()> ended() const override {
    return [peers = node_->group().peers()] { return node::ended(peers); };
  }
  bool look_again() noexcept override {
    over_ = over_ || node_->group().failed() || (lane_ && lane_->collectives->group().failed());
    return over_;
  }

 private:
  class Prepared final : public PreparedCall {
   public:
    Prepared(Node& node, const Shape& s) noexcept : node_(node), shape_(s), operation_(operation_of(s)) {}
    Status run(const void* send, void* recv, double timeout) noexcept override {
      return run_in(*node_.node_, shape_, send, recv, operation_, timeout);
    }

   private:
    Node& node_;
    const Shape shape_;
    const node::Combination operation_;
  };

  class StartedCall final : public Meeting, private node::Started::Task {
   public:
    StartedCall(Lane& lane, const Call& c, std::optional<std::uint64_t> word, bool runs) noexcept
        : lane_(lane), call_(c), word_(word), runs_(runs) {}
    ~StartedCall() override {
      if (done()) return;
      static_cast<void>(lane_.collectives->group().give_up_all(
          fail(Status::timeout, "a started {} was given up", schedule::name(call_.collective))));
      wait_for_end();
    }

    bool same() const noexcept override { return same_; }
    int split() const noexcept override { return tree_ ? tree_->steps.split : 0; }
    bool leads() const noexcept override { return lane_.started.leads(*this); }
    bool move_lead() noexcept override { return lane_.started.move_lead(); }
    void drive(engine::Lanes lanes) noexcept override {
      if (!done()) lane_.started.drive({lanes.before, lanes.beside || !tree_, lanes.after});
    }
    Status test(bool* ended, engine::Report*) noexcept override {
      *ended = done();
      return *ended ? status() : Status::ok;
    }
    bool wait(Status* ended, engine::Report*) noexcept override {
      wait_for_end();
      *ended = status();
      return true;
    }

    friend class Node;

   private:
    void by_tree(const select::Choice& choice, const schedule::Groups& groups) {
      tree_ = {choice.schedule,
               {.collective = call_.collective,
                .ranks = lane_.collectives->size(),
                .rank = lane_.collectives->rank(),
                .root = call_.root,
                .blocks = choice.blocks,
                .radix = choice.radix,
                .split = choice.split,
                .groups = &groups}};
      if (choice.split > 0 && goes_up(call_.collective)) begins_before();
    }
    Status run() noexcept override {
      node::Collectives& c = *lane_.collectives;
      const stretto_options& o = call_.settings.options;
      be_patient(c, o.timeout);
      bool splits = tree_ && tree_->steps.split > 0;
      if (word_ || tree_) {
        const std::uint64_t split = splits ? static_cast<std::uint64_t>(tree_->steps.split) : 0;
        bool same = false, same_split = false;
        if (const Status s = c.agree(word_.value_or(0), &same, split, &same_split); s != Status::ok) return s;
        same_ = same && word_;
        splits = splits && same_split;
      }
      if (!runs_ || (word_ && !same_)) return Status::ok;
      if (tree_) return run_tree(splits);
      return run_in(c, shape_of(call_), call_.send, call_.recv, operation_of(shape_of(call_)), o.timeout);
    }
    Status run_tree(bool splits) noexcept {
      node::Collectives& c = *lane_.collectives;
      return c.group().guarded_for_all("for a tree's steps", [&] {
        if (!splits) tree_->steps.split = 0;
        const auto steps = lane_.trees.get(tree_->name, tree_->steps);
        const void* const in = in_place(call_.send) ? nullptr : call_.send;
        void* const out = in_place(call_.recv) ? nullptr : call_.recv;
        const auto enter = [](void* started, schedule::Lane lane) {
          static_cast<node::Started*>(started)->reach(lane);
        };
        return c.tree({*steps, in, out, call_.count, payload_type(call_.type), operation_of(shape_of(call_)), splits,
                       enter, &lane_.started, tree_->steps.radix});
      });
    }
    void wait_for_end() noexcept {
      Waiting waiting(true, Wakes::by_the_peer);
      lane_.started.expect(1);
      for (unsigned idle = 1; !done(); ++idle) {
        if (lane_.started.drive({})) {
          waiting.reset();
          continue;
        }
        const double sleep = waiting.next(Waiting::clock());
        if ((sleep > 0 || idle % 64 == 0) && lane_.patience.progress) lane_.patience.progress(lane_.patience.context);
        if (sleep > 0) lane_.started.rest(*this, sleep);
      }
      lane_.started.expect(-1);
    }

    struct Named {
      std::string name;
      schedule::Request steps;
    };

    Lane& lane_;
    const Call& call_;
    const std::optional<std::uint64_t> word_;
    const bool runs_;
    std::optional<Named> tree_;
    bool same_ = false;
  };

  static node::Combination operation_of(const Shape& s) noexcept {
    return {reduces(s.collective) ? payload_op(s.op) : payload::Op::sum, {}, s.rank_by_rank};
  }

  static void be_patient(node::Collectives& c, double given) noexcept {
    const double timeout = timeout_of(given);
    c.group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
  }

  Status run_streams(const Call& c, const Decision& d, engine::Report* ran) noexcept {
    be_patient(*node_, c.settings.options.timeout);
    const engine::Arguments a = engine_arguments(c, node_->rank());
    const node::BoundedCall call{schedule::family(c.collective),    a.in,  a.out, c.count,
                                 rooted(c.collective) ? c.root : 0, d.spec};
    node::StreamCounts streamed;
    const Status s = bounded_.run(call, &streamed);
    ran->payload = d.spec.kind;
    ran->raw_bytes = streamed.raw_bytes;
    ran->bytes_sent = streamed.stream_bytes;
    ran->compress_seconds = streamed.seconds.compress;
    ran->decompress_seconds = streamed.seconds.decompress;
    ran->combine_seconds = streamed.seconds.combine;
    return s;
  }

  static Status run_in(node::Collectives& c, const Shape& s, const void* send, void* recv, const node::Combination& o,
                       double timeout) noexcept {
    be_patient(c, timeout);
    return run_in(c, s, send, recv, o);
  }

  static Status run_in(node::Collectives& c, const Shape& s, const void* send, void* recv,
                       const node::Combination& o) noexcept {
    const void* in = in_place(send) ? nullptr : send;
    void* out = in_place(recv) ? nullptr : recv;
    const payload::Type type = payload_type(s.type);
    const std::size_t bytes = s.count * payload::size_of(type);
    switch (s.collective) {
      case Collective::allreduce: return c.allreduce(in, out, s.count, type, o);
      case Collective::reduce: return c.reduce(in, out, s.count, type, o, s.root);
      case Collective::reduce_scatter_block:
      case Collective::reduce_scatter: return c.reduce_scatter(in, out, s.count, type, o);
      case Collective::allgather: return c.allgather(in, out, bytes);
      case Collective::bcast: return c.bcast(out != nullptr ? out : const_cast<void*>(in), bytes, s.root);
      case Collective::scatter: return c.scatter(in, out, bytes, s.root);
      case Collective::gather: return c.gather(in, out, bytes, s.root);
      case Collective::alltoall: return c.alltoall(in, out, bytes);
      case Collective::barrier: return c.barrier();
      case Collective::allreduce_multi:
      case Collective::allgatherv:
      case Collective::scatterv:
      case Collective::gatherv:
      case Collective::alltoallv:
      case Collective::scan:
      case Collective::exscan:
      case Collective::agreement: break;
    }
    return fail(Status::internal, "{} runs on no node", schedule::name(s.collective));
  }

  std::unique_ptr<node::Collectives> node_;
  node::Bounded bounded_;
  const schedule::Groups& groups_;
  std::unique_ptr<Lane> lane_;  // null: nothing was started yet
  bool over_ = false;
};

}  // namespace

std::unique_ptr<NodeBackend> make_node_backend(std::unique_ptr<node::Collectives> collectives,
                                               const schedule::Groups& groups) {
  return std::make_unique<Node>(std::move(collectives), groups);
}

}  // namespace stretto::backend
