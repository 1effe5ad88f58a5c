#include "api/close.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>

#include "api/arguments.hpp"
#include "api/inputs.hpp"
#include "api/payloads.hpp"
#include "api/types.hpp"
#include "node/collectives/bounded.hpp"

namespace stretto::api {
namespace {

// The caller's function behind the payload's: one more argument.
void call_user(const void* left, void* right, std::size_t count, void* context) {
  const auto& call = *static_cast<const Call*>(context);
  const stretto_options& o = call.settings.options;
  o.user_function(left, right, count, call.type, o.user_context);
}

bool combines(const Call& c) noexcept {
  return c.op != STRETTO_DIFFERENCE && payload::defined(payload_op(c.op), payload_type(c.type));
}

bool even(const std::vector<std::size_t>& counts) noexcept {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

// As what src/node/collectives/bounded.hpp has of it; agreement: nothing.
node::Kind streamed_kind(Collective c) noexcept {
  switch (c) {
    case Collective::allreduce: return node::Kind::allreduce;
    case Collective::reduce: return node::Kind::reduce;
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter: return node::Kind::reduce_scatter;
    case Collective::allgather: return node::Kind::allgather;
    case Collective::bcast: return node::Kind::bcast;
    case Collective::allreduce_multi:
    case Collective::allgatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::barrier: break;
  }
  return node::Kind::agreement;
}

bool keeps_bound(const Call& c) noexcept {
  return !reduces(c.collective) || c.op == STRETTO_SUM || c.op == STRETTO_MEAN || c.op == STRETTO_MIN ||
         c.op == STRETTO_MAX;
}

// Only moved, in blocks that all ranks cut alike.
bool moves(Collective c) noexcept {
  return c == Collective::bcast || c == Collective::allgather || c == Collective::gather || c == Collective::scatter ||
         c == Collective::alltoall;
}

bool meets_as_codes(stretto_payload p) noexcept {
  return p == STRETTO_PAYLOAD_AUTO || p == STRETTO_PAYLOAD_FUSED || p == STRETTO_PAYLOAD_HOMOMORPHIC;
}

class Close final : public NodeNative {
 public:
  Close(std::unique_ptr<node::Collectives> c, std::shared_ptr<void> kept)
      : kept_(std::move(kept)), node_(std::move(c)), bounded_(node_->group()), otherwise_(*this) {}

  const char* name() const noexcept override { return node_name; }

  // Blocks of different lengths are left to others, and so is what is started: nobody would move it while the caller computes.
  bool serves(const Call& c) const noexcept override {
    if (c.nonblocking || over_) return false;
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
      case Collective::alltoallv: return false;
    }
    return false;
  }

  Native& otherwise() noexcept override { return otherwise_; }
  bool differs_otherwise(const Call& c) const noexcept override {
    return moves(c.collective) && node_->copies_differ(c.count * stretto_type_size(c.type));
  }

  bool streams(const Call& c) const noexcept override {
    const stretto_options& o = c.settings.options;
    return serves(c) && o.bound_kind != STRETTO_BOUND_NONE && meets_as_codes(o.payload) && is_floating(c.type) &&
           streamed_kind(c.collective) != node::Kind::agreement && keeps_bound(c);
  }

  Status run_streams(const Call& c, const payload::Spec& spec, engine::Report* report) noexcept override {
    be_patient(timeout_of(c.settings.options));
    const engine::Arguments a = engine_arguments(c, node_->rank());
    node::BoundedCall call{streamed_kind(c.collective), a.in, a.out, c.count, rooted(c.collective) ? c.root : 0, spec};
    node::Streamed streamed;
    const Status s = bounded_.run(call, &streamed);
    report->payload = spec.kind;
    report->raw_bytes = streamed.raw_bytes;
    report->bytes_sent = streamed.stream_bytes;
    report->compress_seconds = streamed.seconds.compress;
    report->decompress_seconds = streamed.seconds.decompress;
    report->combine_seconds = streamed.seconds.combine;
    return s;
  }

  Status run(const Call& c) noexcept override {
    node::Operation o{reduces(c.collective) ? payload_op(c.op) : payload::Op::sum};
    o.rank_by_rank = rank_by_rank(c);
    if (o.op == payload::Op::user) o.user = {call_user, const_cast<Call*>(&c), c.settings.options.user_commutes != 0};
    return run(shape_of(c), c.send, c.recv, o, timeout_of(c.settings.options));
  }

  std::unique_ptr<Repeated> repeat(const Shape& s) noexcept override {
    return std::unique_ptr<Repeated>(new (std::nothrow) Again(*this, s));
  }

  Status agree(std::uint64_t value, double timeout, bool* same) noexcept override {
    be_patient(timeout);
    const Status s = node_->agree(value, same);
    over_ = over_ || s == Status::incompatible;
    return s;
  }

  void give_up(Status status) noexcept override {
    over_ = true;
    static_cast<void>(node_->group().give_up_all(status));
  }
  void started() noexcept override { node_->group().began(); }
  bool differed() const noexcept override { return node_->group().differed(); }
  bool look_again() noexcept override {
    over_ = over_ || node_->group().failed();
    return over_;
  }

  Status start(const Call& c, std::unique_ptr<Pending>*) noexcept override { return not_started(c); }

 private:
  static Status not_started(const Call& c) noexcept {
    return fail(Status::internal, "{} cannot be started on a node", collective_name(c.collective));
  }

  void be_patient(double timeout) noexcept {
    node_->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
  }

  Status run(const Shape& s, const void* send, void* recv, const node::Operation& o, double timeout) noexcept {
    be_patient(timeout);
    const void* in = in_place(send) ? nullptr : send;
    void* out = in_place(recv) ? nullptr : recv;
    const payload::Type type = payload_type(s.type);
    const std::size_t bytes = s.count * payload::size_of(type);
    switch (s.collective) {
      case Collective::allreduce: return node_->allreduce(in, out, s.count, type, o);
      case Collective::reduce: return node_->reduce(in, out, s.count, type, o, s.root);
      case Collective::reduce_scatter_block:
      case Collective::reduce_scatter: return node_->reduce_scatter(in, out, s.count, type, o);
      case Collective::allgather: return node_->allgather(in, out, bytes);
      case Collective::bcast: return node_->bcast(out != nullptr ? out : const_cast<void*>(in), bytes, s.root);
      case Collective::scatter: return node_->scatter(in, out, bytes, s.root);
      case Collective::gather: return node_->gather(in, out, bytes, s.root);
      case Collective::alltoall: return node_->alltoall(in, out, bytes);
      case Collective::barrier: return node_->barrier();
      case Collective::allreduce_multi:
      case Collective::allgatherv:
      case Collective::scatterv:
      case Collective::gatherv:
      case Collective::alltoallv: break;
    }
    return fail(Status::internal, "{} runs on no node", collective_name(s.collective));
  }

  class Again final : public Repeated {
   public:
    Again(Close& close, const Shape& s) noexcept
        : close_(close),
          shape_(s),
          operation_{reduces(s.collective) ? payload_op(s.op) : payload::Op::sum, {}, s.rank_by_rank} {}
    Status run(const void* send, void* recv, double timeout) noexcept override {
      return close_.run(shape_, send, recv, operation_, timeout);
    }

   private:
    Close& close_;
    const Shape shape_;
    const node::Operation operation_;
  };

  template <class Run>
  Status copying_otherwise(const Run& run) noexcept {
    node_->reverse_copies(true);
    const Status s = run();
    node_->reverse_copies(false);
    return s;
  }

  class Otherwise final : public Native {
   public:
    explicit Otherwise(Close& close) noexcept : close_(close) {}
    const char* name() const noexcept override { return close_.name(); }
    bool serves(const Call& c) const noexcept override { return close_.serves(c) && close_.differs_otherwise(c); }
    Status run(const Call& c) noexcept override {
      return close_.copying_otherwise([&] { return close_.run(c); });
    }
    Status start(const Call& c, std::unique_ptr<Pending>*) noexcept override { return not_started(c); }
    std::unique_ptr<Repeated> repeat(const Shape& s) noexcept override {
      return std::unique_ptr<Repeated>(new (std::nothrow) AgainOtherwise(close_, s));
    }

   private:
    Close& close_;
  };

  class AgainOtherwise final : public Repeated {
   public:
    AgainOtherwise(Close& close, const Shape& s) noexcept : close_(close), again_(close, s) {}
    Status run(const void* send, void* recv, double timeout) noexcept override {
      return close_.copying_otherwise([&] { return again_.run(send, recv, timeout); });
    }

   private:
    Close& close_;
    Again again_;
  };

  std::shared_ptr<void> kept_;
  std::unique_ptr<node::Collectives> node_;
  node::Bounded bounded_;
  Otherwise otherwise_;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<NodeNative> make_close(std::unique_ptr<node::Collectives> collectives, std::shared_ptr<void> kept) {
  return std::make_unique<Close>(std::move(collectives), std::move(kept));
}

}  // namespace stretto::api
