#include "backend/nodes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/communication_cores.hpp"
#include "base/retained.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "codec/stream/format.hpp"
#include "engine/binding.hpp"
#include "node/group/watched.hpp"
#include "schedule/registry.hpp"

namespace stretto::backend {

using namespace call;

namespace {

// Pieces that may be between the hosts at a time.
constexpr std::size_t most_between = 2;

bool is_sum_or_extreme(stretto_op op) noexcept {
  return op == STRETTO_SUM || op == STRETTO_MEAN || op == STRETTO_MIN || op == STRETTO_MAX;
}

// Adds up what one lane sent for a piece.
void add(const engine::Report& piece, engine::Report* all) noexcept {
  all->algorithm = piece.algorithm;
  all->payload = piece.payload;
  all->raw_bytes += piece.raw_bytes;
  all->bytes_sent += piece.bytes_sent;
  all->messages_sent += piece.messages_sent;
  all->segments += piece.segments;
  all->compress_seconds += piece.compress_seconds;
  all->decompress_seconds += piece.decompress_seconds;
  all->combine_seconds += piece.combine_seconds;
  all->wait_seconds += piece.wait_seconds;
  all->total_seconds += piece.total_seconds;
}

struct Memory {
  std::vector<std::byte> bytes;
  Memory* next = nullptr;
};

class Nodes final : public NodesBackend {
 public:
  Nodes(std::unique_ptr<node::Collectives> host, engine::Engine& engine, const schedule::Groups& groups,
        Transport& transport)
      : host_(std::move(host)), engine_(engine), transport_(transport) {
    const int rank = engine.carrier().rank();
    index_ = groups.group_of[static_cast<std::size_t>(rank)];
    const std::vector<std::int32_t>& here = groups.members[static_cast<std::size_t>(index_)];
    number_ = static_cast<std::size_t>(std::find(here.begin(), here.end(), rank) - here.begin());
    lanes_ = here.size();
    for (const auto& members : groups.members) lanes_ = std::min(lanes_, members.size());
    even_ = here.size() == lanes_;
    if (number_ < lanes_)
      for (const auto& members : groups.members) lane_.push_back(members[number_]);
    node::Patience& patience = host_->group().patience();
    patience.progress = progress;
    patience.context = this;
  }

  const char* name() const noexcept override { return node_name; }

  bool serves(const Call& c) const noexcept override {
    return c.collective == Collective::allreduce && !c.nonblocking && c.op != STRETTO_USER &&
           c.op != STRETTO_DIFFERENCE && !rank_by_rank(c) && c.settings.options.raw_below == 0 &&
           payload::defined(payload_op(c.op), payload_type(c.type));
  }

  bool starts(const Call&) const noexcept override { return false; }

  bool streams(const Call& c) const noexcept override {
    const stretto_options& o = c.settings.options;
    const bool may = o.payload == STRETTO_PAYLOAD_AUTO || o.payload == STRETTO_PAYLOAD_MIXED;
    return serves(c) && o.bound_kind != STRETTO_BOUND_NONE && may && is_floating(c.type) && is_sum_or_extreme(c.op);
  }

  Status run(const Call& c, const Decision& d, engine::Report* ran) noexcept override {
    const std::uint64_t number = engine_.pass();
    Status s = Status::ok;
    try {
      s = Allreduce(*this, c, d, ran).run();
    } catch (const std::bad_alloc&) {
      s = fail(Status::out_of_memory, "no memory for the {} of several hosts", schedule::name(c.collective));
    }
    if (s == Status::ok) return s;
    // Other hosts wait for messages of this collective.
    const std::string_view why(message());
    std::array<char, 512> text{};
    why.copy(text.data(), text.size() - 1);
    engine_.give_up(s, text.data(), number);
    for (Piece& piece : between_) {
      piece.request = {};
      retain(std::move(piece.memory));  // transfers that could not be withdrawn may still access it
    }
    return fail(s, std::string_view(text.data()));
  }

  std::unique_ptr<PreparedCall> prepare(const Shape&) noexcept override { return nullptr; }

  void give_up(Status status) noexcept override { static_cast<void>(host_->group().give_up_all(status)); }

  std::function<std::string()> ended() const override {
    return [peers = host_->group().peers()] { return node::ended(peers); };
  }

 private:
  // A piece of the vector on its way.
  struct Piece {
    std::size_t first = 0, count = 0;  // elements
    std::byte* block = nullptr;        // of this rank's lane
    std::unique_ptr<Memory> memory;    // where the block has no memory of the caller's
    engine::Request request;
  };

  // One call.
  class Allreduce {
   public:
    Allreduce(Nodes& nodes, const Call& call, const Decision& decision, engine::Report* ran)
        : at_(nodes),
          type_(payload_type(call.type)),
          size_(payload::size_of(type_)),
          count_(call.count),
          in_(in_place(call.send) ? nullptr : static_cast<const std::byte*>(call.send)),
          out_(static_cast<std::byte*>(call.recv)),
          inside_{payload_op(call.op) == payload::Op::mean ? payload::Op::sum : payload_op(call.op), {}, false},
          ran_(ran) {
      const double timeout = timeout_of(call.settings.options);
      at_.host_->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
      work_.payload = decision.spec;
      work_.options.segment_bytes = decision.choice.segment;
      work_.options.timeout = timeout;
      if (at_.in_lane()) work_.schedule = at_.schedule_of(decision.choice);
      const std::size_t grain = codec::kGroup * at_.lanes_;
      step_ = std::max<std::size_t>(decision.choice.piece / size_ / grain, 1) * grain;
    }

    Status run() {
      std::size_t begun = 0, ended = 0;
      const std::size_t pieces = (count_ + step_ - 1) / step_;
      while (ended < pieces) {
        Status s = Status::ok;
        if (begun < pieces && begun - ended < most_between)
          s = begin(begun++);
        else
          s = end(at_.between_[ended++ % most_between]);
        if (s != Status::ok) return s;
      }
      return Status::ok;
    }

   private:
    std::size_t lanes() const noexcept { return at_.lanes_; }
    bool alone() const noexcept { return at_.host_->size() == 1; }
    const std::byte* input(std::size_t first) const noexcept { return (in_ != nullptr ? in_ : out_) + first * size_; }
    std::byte* output(std::size_t first) const noexcept { return out_ + first * size_; }
    std::size_t first_of(const Piece& piece, std::size_t lane) const noexcept {
      return engine::first_of(piece.count, static_cast<int>(lanes()), static_cast<int>(lane), 1);
    }
    std::size_t count_of(const Piece& piece, std::size_t lane) const noexcept {
      return first_of(piece, lane + 1) - first_of(piece, lane);
    }
    // All ranks of the host have a block, and all blocks have one length.
    bool is_even(const Piece& piece) const noexcept { return at_.even_ && piece.count % lanes() == 0; }

    Status begin(std::size_t index) {
      Piece& piece = at_.between_[index % most_between];
      piece.first = index * step_;
      piece.count = std::min(step_, count_ - piece.first);
      if (at_.in_lane()) {
        piece.block = output(piece.first + first_of(piece, at_.number_));
        // Other ranks of the host read this rank's input, which the sum must not replace yet.
        if (in_ == nullptr && !alone()) {
          if (!piece.memory) piece.memory = std::make_unique<Memory>();
          piece.memory->bytes.resize(count_of(piece, at_.number_) * size_);
          piece.block = piece.memory->bytes.data();
        }
      }
      if (const Status s = sum(piece); s != Status::ok) return s;
      return start(piece);
    }

    Status sum(const Piece& piece) {
      if (alone()) return Status::ok;
      node::Collectives& host = *at_.host_;
      const std::size_t block = piece.count / lanes() * size_;
      if (is_even(piece) && host.group().oversubscribed() && host.copies_differ(block)) return sum_copies(piece, block);
      if (is_even(piece))
        return host.reduce_scatter(input(piece.first), piece.block, piece.count / lanes(), type_, inside_);
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        std::byte* const to = lane == at_.number_ ? piece.block : nullptr;
        const Status s = host.reduce(input(piece.first + first_of(piece, lane)), to, count_of(piece, lane), type_,
                                     inside_, static_cast<int>(lane));
        if (s != Status::ok) return s;
      }
      return Status::ok;
    }

    // Where ranks share cores, each round in slots waits for a core. The kernel copies a whole block in one round, and the sum has the
    // order and the bits of reduce_scatter's.
    Status sum_copies(const Piece& piece, std::size_t block) {
      const auto ranks = static_cast<std::size_t>(at_.host_->size());
      at_.copies_.resize(ranks * block);
      if (const Status s = at_.host_->alltoall(input(piece.first), at_.copies_.data(), block); s != Status::ok)
        return s;
      const std::byte* next = at_.copies_.data();
      const std::size_t count = piece.count / lanes();
      Status s = node::join(inside_, type_, next, next + block, piece.block, count);
      for (std::size_t r = 2; r < ranks && s == Status::ok; ++r)
        s = node::fold(inside_, type_, piece.block, next + r * block, count);
      return s;
    }

    // Ranks without a lane count the run, since all ranks number their runs alike.
    Status start(Piece& piece) {
      if (!at_.in_lane()) {
        static_cast<void>(at_.engine_.pass());
        return Status::ok;
      }
      const engine::Arguments arguments{
          .in = alone() ? input(piece.first) : piece.block, .out = piece.block, .count = count_of(piece, at_.number_)};
      const Status s = engine::bind(*work_.schedule, type_, arguments, &work_.blocks);
      return s != Status::ok ? s : at_.engine_.start(work_, &piece.request);
    }

    Status end(Piece& piece) {
      engine::Report report;
      if (at_.in_lane()) {
        if (const Status s = piece.request.wait(&report); s != Status::ok) return s;
        add(report, ran_);
      }
      return alone() ? Status::ok : spread(piece);
    }

    Status spread(const Piece& piece) {
      node::Collectives& host = *at_.host_;
      std::byte* const whole = output(piece.first);
      const bool apart = in_ == nullptr;  // from the result: see begin()
      if (is_even(piece)) return host.allgather(apart ? piece.block : nullptr, whole, piece.count / lanes() * size_);
      if (apart && at_.in_lane())
        std::memcpy(whole + first_of(piece, at_.number_) * size_, piece.block, count_of(piece, at_.number_) * size_);
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        const Status s =
            host.bcast(whole + first_of(piece, lane) * size_, count_of(piece, lane) * size_, static_cast<int>(lane));
        if (s != Status::ok) return s;
      }
      return Status::ok;
    }

    Nodes& at_;
    const payload::Type type_;
    const std::size_t size_, count_;
    const std::byte* const in_;  // null: in place
    std::byte* const out_;
    const node::Combination inside_;
    engine::Report* const ran_;
    engine::Work work_;
    std::size_t step_ = 0;  // elements of a piece
  };

  bool in_lane() const noexcept { return number_ < lanes_; }

  // Messages of this rank's lane advance while it waits for its host, and so do started calls, for which another rank may wait.
  static void progress(void* of) noexcept {
    auto* const own = static_cast<Nodes*>(of);
    static_cast<void>(own->engine_.progress());
    CommunicationCores::mine().drive_here(!own->transport_.any_thread());
    own->transport_.progress();
  }

  // The schedule of as many ranks as there are hosts, between the ranks of this rank's lane.
  std::shared_ptr<const schedule::Schedule> schedule_of(const select::Choice& choice) {
    for (const Kept& kept : kept_)
      if (kept.name == choice.schedule && kept.blocks == choice.blocks && kept.radix == choice.radix)
        return kept.schedule;
    const schedule::Algorithm* const algorithm = schedule::find(Collective::allreduce, choice.schedule);
    if (!algorithm) return nullptr;
    schedule::Request request;
    request.collective = Collective::allreduce;
    request.ranks = static_cast<std::int32_t>(lane_.size());
    request.rank = index_;
    request.blocks = choice.blocks;
    request.radix = choice.radix;
    auto made = std::make_shared<schedule::Schedule>(algorithm->build(request));
    made->ranks = engine_.carrier().size();
    made->rank = engine_.carrier().rank();
    for (schedule::Step& step : made->steps)
      if (step.peer >= 0) {
        step.peer = lane_[static_cast<std::size_t>(step.peer)];
        step.link = schedule::Link::network;
      }
    kept_.push_back({choice.schedule, choice.blocks, choice.radix, made});
    return made;
  }

  struct Kept {
    std::string name;
    int blocks, radix;
    std::shared_ptr<const schedule::Schedule> schedule;
  };

  std::unique_ptr<node::Collectives> host_;
  engine::Engine& engine_;
  Transport& transport_;
  std::size_t number_ = 0;          // of this rank among those of its host
  std::size_t lanes_ = 1;           // ranks of the smallest host
  bool even_ = false;               // this host has as many ranks as there are lanes
  std::vector<std::int32_t> lane_;  // ranks of this rank's lane, by host; empty: it is in none
  std::int32_t index_ = 0;          // of this rank's host
  std::vector<Kept> kept_;
  std::array<Piece, most_between> between_;
  std::vector<std::byte> copies_;  // of all ranks' shares of a block
};

}  // namespace

std::unique_ptr<NodesBackend> make_nodes_backend(std::unique_ptr<node::Collectives> host, engine::Engine& engine,
                                                 const schedule::Groups& groups, Transport& transport) {
  return std::make_unique<Nodes>(std::move(host), engine, groups, transport);
}

}  // namespace stretto::backend
