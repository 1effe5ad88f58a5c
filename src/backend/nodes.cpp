#include "backend/nodes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/host_exchange.hpp"
#include "base/progress/communication_cores.hpp"
#include "base/retained.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "codec/stream/format.hpp"
#include "engine/binding.hpp"
#include "node/group/watched.hpp"
#include "node/memory/window.hpp"
#include "schedule/registry.hpp"

namespace stretto::backend {

using namespace call;

namespace {

constexpr std::size_t most_between = 8;

// Longer calls use all lanes: an additional message costs more than a longer one.
constexpr std::size_t longest_in_one_lane = 8 * 1024;

// Pieces whose results of other ranks are not copied yet, while further ones end.
constexpr std::size_t most_behind = 2;

// Bytes of the operands that the kernel copies at once: they stay in the second-level cache until they are summed.
constexpr std::size_t window_chunk = 128 * 1024;

bool is_sum_or_extreme(stretto_op op) noexcept {
  return op == STRETTO_SUM || op == STRETTO_MEAN || op == STRETTO_MIN || op == STRETTO_MAX;
}

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

// Processes of a host whose memory may be made later, for any thread.
struct Watched {
  std::mutex mutex;
  std::vector<node::Peer> peers;
};

class Nodes final : public NodesBackend {
 public:
  Nodes(MakeHost make, engine::Engine& engine, const schedule::Groups& groups, Transport& transport)
      : make_(std::move(make)),
        engine_(engine),
        transport_(transport),
        members_(groups.members),
        group_of_(groups.group_of),
        watched_(std::make_shared<Watched>()) {
    find_place();
  }

  const char* name() const noexcept override { return node_name; }

  bool serves(const Call& c) const noexcept override {
    if (c.nonblocking || c.settings.options.raw_below > 0 || is_pointless()) return false;
    switch (c.collective) {
      case Collective::allreduce:
      case Collective::reduce:
        return c.op != STRETTO_USER && c.op != STRETTO_DIFFERENCE && !rank_by_rank(c) &&
               payload::defined(payload_op(c.op), payload_type(c.type));
      case Collective::bcast:
      case Collective::barrier: return true;
      default: return false;
    }
  }

  bool starts(const Call&) const noexcept override { return false; }

  bool streams(const Call& c) const noexcept override {
    const stretto_options& o = c.settings.options;
    const bool may = o.payload == STRETTO_PAYLOAD_AUTO || o.payload == STRETTO_PAYLOAD_MIXED;
    return !parted_ && serves(c) && reduces(c.collective) && o.bound_kind != STRETTO_BOUND_NONE && may &&
           is_floating(c.type) && is_sum_or_extreme(c.op);
  }

  Status run(const Call& c, const Decision& d, engine::Report* ran) noexcept override {
    const std::uint64_t number = engine_.pass();
    Status s = Status::ok;
    try {
      if (!made_) s = meet(timeout_of(c.settings.options));
      if (s == Status::ok) s = Execution(*this, c, d, ran).run();
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
    return fail(s, "{} through the memory of several hosts: {}", schedule::name(c.collective), text.data());
  }

  std::unique_ptr<PreparedCall> prepare(const Shape&) noexcept override { return nullptr; }

  void give_up(Status status) noexcept override {
    if (host_) static_cast<void>(host_->group().give_up_all(status));
  }

  std::function<std::string()> ended() const override {
    return [watched = watched_] {
      const std::lock_guard lock(watched->mutex);
      return node::ended(watched->peers);
    };
  }

 private:
  struct Piece {
    std::size_t first = 0, count = 0;  // elements
    std::byte* block = nullptr;        // of this rank's lane; null: it has none, or no result there
    bool apart = false;
    std::unique_ptr<Memory> memory;
    engine::Request request;
  };

  // Each piece passes arrive(), start(), end() and leave(), in one order on all ranks of a host.
  class Execution {
   public:
    Execution(Nodes& nodes, const Call& call, const Decision& decision, engine::Report* ran)
        : at_(nodes),
          host_(nodes.host_.get()),
          kind_(schedule::family(call.collective)),
          type_(kind_ == Collective::barrier ? payload::Type::u8 : payload_type(call.type)),
          size_(payload::size_of(type_)),
          count_(kind_ == Collective::barrier ? 0 : call.count),
          in_(reduces(kind_) && !in_place(call.send) ? static_cast<const std::byte*>(call.send) : nullptr),
          out_(static_cast<std::byte*>(call.recv)),
          lanes_(count_ * size_ <= longest_in_one_lane ? 1 : nodes.lanes_),
          ran_(ran) {
      if (kind_ == Collective::bcast && out_ == nullptr) out_ = static_cast<std::byte*>(const_cast<void*>(call.send));
      const payload::Op op = reduces(kind_) ? payload_op(call.op) : payload::Op::sum;
      inside_.op = op == payload::Op::mean ? payload::Op::sum : op;
      if (rooted(kind_)) {
        root_ = call.root;
        root_number_ = at_.number_of(root_);
        at_root_ = root_ == at_.engine_.carrier().rank();
        with_root_ = at_.group_of_[static_cast<std::size_t>(root_)] == at_.index_;
      }
      in_lane_ = lanes_ == 1 ? at_.number_ == local(0) : at_.number_ < lanes_;
      lane_ = lanes_ == 1 ? 0 : at_.number_;
      const double timeout = timeout_of(call.settings.options);
      if (host_) host_->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
      work_.payload = decision.spec;
      if (at_.parted_) {  // more contributions would travel than the bound was divided by
        work_.payload.kind = payload::Kind::raw;
        work_.payload.nodes = 0;
      }
      work_.payload.type = type_;
      work_.options.segment_bytes = decision.choice.segment;
      work_.options.timeout = timeout;
      if (in_lane_) work_.schedule = at_.schedule_of(kind_, decision.choice, peers(), root_);
      const std::size_t grain = codec::kGroup * lanes_;
      step_ = std::max<std::size_t>(decision.choice.piece / size_ / grain, 1) * grain;
    }

    Status run() {
      if (in_lane_ && !work_.schedule)
        return fail(Status::internal, "no schedule of {} between hosts", schedule::name(kind_));
      const std::size_t pieces = kind_ == Collective::barrier ? 1 : (count_ + step_ - 1) / step_;
      if (const Status s = open_window(pieces); s != Status::ok) return s;
      // With a window a rank that is ahead of its host goes on to the next piece before it waits for results.
      const std::size_t lag = window_ ? most_behind : 0;
      std::size_t begun = 0, ended = 0, left = 0;
      while (left < pieces) {
        if (pieces > 1) static_cast<void>(at_.engine_.progress());
        Status s = Status::ok;
        if (begun < pieces && begun - left < most_between)
          s = begin(begun++);
        else if (ended < pieces && ended - left <= lag)
          s = end(at_.between_[ended++ % most_between]);
        else
          s = leave(at_.between_[left % most_between], left), ++left;
        if (s != Status::ok) return s;
      }
      return window_ ? window_->close() : Status::ok;
    }

   private:
    bool alone() const noexcept { return host_ == nullptr; }
    const std::byte* input(std::size_t first) const noexcept { return (in_ != nullptr ? in_ : out_) + first * size_; }
    std::byte* output(std::size_t first) const noexcept { return out_ + first * size_; }
    std::size_t first_of(const Piece& piece, std::size_t lane) const noexcept {
      return engine::first_of(piece.count, static_cast<int>(lanes_), static_cast<int>(lane), 1);
    }
    std::size_t count_of(const Piece& piece, std::size_t lane) const noexcept {
      return first_of(piece, lane + 1) - first_of(piece, lane);
    }
    // All ranks of the host have a block, and all blocks have one length.
    bool is_even(const Piece& piece) const noexcept {
      return static_cast<std::size_t>(host_->size()) == lanes_ && piece.count % lanes_ == 0;
    }

    std::size_t local(std::size_t lane) const noexcept { return lanes_ == 1 && with_root_ ? root_number_ : lane; }

    std::vector<std::int32_t> peers() const {
      std::vector<std::int32_t> all;
      all.reserve(at_.members_.size());
      for (const auto& members : at_.members_) all.push_back(members[lane_]);
      if (lanes_ == 1 && root_ >= 0)
        all[static_cast<std::size_t>(at_.group_of_[static_cast<std::size_t>(root_)])] = root_;
      return all;
    }

    // The root's host has all of a broadcast's piece before the lanes do, unless the lane is the root.
    bool has_all_first() const noexcept { return kind_ == Collective::bcast && with_root_ && lanes_ > 1; }

    Status begin(std::size_t index) {
      Piece& piece = at_.between_[index % most_between];
      piece.first = index * step_;
      piece.count = std::min(step_, count_ - piece.first);
      place_block(piece);
      if (const Status s = arrive(piece); s != Status::ok) return s;
      return start(piece);
    }

    // A sum must not replace input that other ranks of the host still read. Only the root has memory for results of a
    // reduce.
    void place_block(Piece& piece) {
      const bool own = kind_ != Collective::reduce || (at_root_ && lanes_ == 1);
      const bool replaces = reduces(kind_) && in_ == nullptr;
      piece.block = nullptr;
      piece.apart = !alone() && !window_ && (!own || replaces);
      if (piece.apart) {
        if (!piece.memory) piece.memory = std::make_unique<Memory>();
        piece.memory->bytes.resize(count_of(piece, 0) * size_);
        piece.block = piece.memory->bytes.data();
      } else if (own && in_lane_ && count_ > 0) {
        piece.block = output(piece.first + first_of(piece, lane_));
      }
    }

    // Each rank then reads its host's operands and results where they are.
    Status open_window(std::size_t pieces) {
      if (alone() || kind_ != Collective::allreduce || lanes_ == 1) return Status::ok;
      const std::size_t bytes = count_ * size_;
      node::Window window(host_->group(), host_->memory());
      bool visible = false;
      const node::CallRecord call{kind_, static_cast<std::uint8_t>(type_), static_cast<std::uint8_t>(inside_.op), 0,
                                  bytes};
      const Status s = window.open(call, {input(0), bytes}, {out_, bytes}, pieces, &visible);
      if (s == Status::ok && visible) window_.emplace(std::move(window));
      return s;
    }

    Status arrive(const Piece& piece) {
      if (alone()) return Status::ok;
      if (window_) return sum_in_window(piece);
      if (kind_ == Collective::barrier) return host_->barrier();
      if (reduces(kind_)) return sum(piece);
      if (!has_all_first()) return Status::ok;
      return host_->bcast(output(piece.first), piece.count * size_, static_cast<int>(root_number_));
    }

    Status sum(const Piece& piece) {
      const std::size_t block = piece.count / lanes_ * size_;
      if (is_even(piece) && host_->group().oversubscribed() && host_->copies_differ(block))
        return sum_copies(piece, block);
      if (is_even(piece))
        return host_->reduce_scatter(input(piece.first), piece.block, piece.count / lanes_, type_, inside_);
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        std::byte* const to = in_lane_ && lane == lane_ ? piece.block : nullptr;
        const Status s = host_->reduce(input(piece.first + first_of(piece, lane)), to, count_of(piece, lane), type_,
                                       inside_, static_cast<int>(local(lane)));
        if (s != Status::ok) return s;
      }
      return Status::ok;
    }

    // The sum has the order and bits of reduce_scatter's. In place a rank alone reads its operand of its own lane.
    Status sum_in_window(const Piece& piece) {
      if (!in_lane_) return Status::ok;
      const std::size_t all = count_of(piece, lane_), at = piece.first + first_of(piece, lane_);
      const std::size_t most = window_chunk / size_;
      at_.copies_.resize(3 * window_chunk);
      std::byte* const room = at_.copies_.data();
      for (std::size_t done = 0; done < all; done += most) {
        const std::size_t n = std::min(most, all - done);
        std::byte* const to = piece.block + done * size_;
        std::byte* const sum = in_ != nullptr ? to : room + 2 * window_chunk;
        const std::byte *first = nullptr, *next = nullptr;
        Status s = Status::ok;
        for (int r = 0; r < host_->size() && s == Status::ok; ++r) {
          std::byte* const copied = room + (r == 0 ? 0 : window_chunk);
          const std::byte** const operand = r == 0 ? &first : &next;
          if (r == host_->rank())
            *operand = input(at + done);
          else
            s = window_->input(r, (at + done) * size_, n * size_, copied, operand);
          if (s != Status::ok || r == 0) continue;
          s = r == 1 ? node::join(inside_, type_, first, next, sum, n) : node::fold(inside_, type_, sum, next, n);
        }
        if (s != Status::ok) return s;
        if (sum != to) std::memcpy(to, sum, n * size_);
      }
      return Status::ok;
    }

    // With shared cores each round in slots waits for a core. The kernel copies a whole block in one round, and the sum
    // has the order and bits of reduce_scatter's.
    Status sum_copies(const Piece& piece, std::size_t block) {
      const auto ranks = static_cast<std::size_t>(host_->size());
      at_.copies_.resize(ranks * block);
      if (const Status s = host_->alltoall(input(piece.first), at_.copies_.data(), block); s != Status::ok) return s;
      const std::byte* next = at_.copies_.data();
      const std::size_t count = piece.count / lanes_;
      Status s = node::join(inside_, type_, next, next + block, piece.block, count);
      for (std::size_t r = 2; r < ranks && s == Status::ok; ++r)
        s = node::fold(inside_, type_, piece.block, next + r * block, count);
      return s;
    }

    // Ranks without a lane count the run, since all ranks number their runs alike.
    Status start(Piece& piece) {
      if (!in_lane_) {
        static_cast<void>(at_.engine_.pass());
        return Status::ok;
      }
      const bool unsummed = reduces(kind_) && alone();
      const engine::Arguments arguments{.in = unsummed ? input(piece.first) : piece.block,
                                        .out = piece.block,
                                        .count = kind_ == Collective::barrier ? 0 : count_of(piece, lane_)};
      const Status s = engine::bind(*work_.schedule, type_, arguments, &work_.blocks);
      return s != Status::ok ? s : at_.engine_.start(work_, &piece.request);
    }

    Status end(Piece& piece) {
      engine::Report report;
      if (in_lane_) {
        if (const Status s = piece.request.wait(&report); s != Status::ok) return s;
        add(report, ran_);
      }
      return window_ ? window_->publish() : Status::ok;
    }

    Status leave(const Piece& piece, std::size_t index) {
      if (alone()) return Status::ok;
      if (window_) return spread_in_window(piece, index);
      if (kind_ == Collective::barrier) return host_->barrier();
      if (kind_ == Collective::reduce) return with_root_ ? collect(piece) : Status::ok;
      return has_all_first() ? Status::ok : spread(piece);
    }

    Status spread_in_window(const Piece& piece, std::size_t index) {
      for (std::size_t i = 1; i <= lanes_; ++i) {
        const std::size_t lane = (at_.number_ + i) % lanes_;
        if (in_lane_ && lane == lane_) continue;
        const std::size_t at = (piece.first + first_of(piece, lane)) * size_;
        const Status s = window_->fetch(static_cast<int>(lane), index, at, count_of(piece, lane) * size_, out_ + at);
        if (s != Status::ok) return s;
      }
      window_->leave(index);
      return Status::ok;
    }

    Status collect(const Piece& piece) {
      if (lanes_ == 1) {
        if (at_root_ && piece.apart) std::memcpy(output(piece.first), piece.block, piece.count * size_);
        return Status::ok;
      }
      const std::size_t block = count_of(piece, 0) * size_;
      if (at_root_) at_.copies_.resize(static_cast<std::size_t>(host_->size()) * block);
      std::byte* const all = at_root_ ? at_.copies_.data() : nullptr;
      if (const Status s = host_->gather(piece.block, all, block, static_cast<int>(root_number_)); s != Status::ok)
        return s;
      for (std::size_t lane = 0; at_root_ && lane < lanes_; ++lane)
        std::memcpy(output(piece.first + first_of(piece, lane)), all + lane * block, count_of(piece, lane) * size_);
      return Status::ok;
    }

    Status spread(const Piece& piece) {
      std::byte* const whole = output(piece.first);
      if (is_even(piece))
        return host_->allgather(piece.apart ? piece.block : nullptr, whole, piece.count / lanes_ * size_);
      if (piece.apart && in_lane_)
        std::memcpy(whole + first_of(piece, lane_) * size_, piece.block, count_of(piece, lane_) * size_);
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        const Status s = host_->bcast(whole + first_of(piece, lane) * size_, count_of(piece, lane) * size_,
                                      static_cast<int>(local(lane)));
        if (s != Status::ok) return s;
      }
      return Status::ok;
    }

    Nodes& at_;
    node::Collectives* const host_;  // null: this rank is alone
    const Collective kind_;
    const payload::Type type_;
    const std::size_t size_, count_;
    const std::byte* const in_;  // null: in place, or not a reduction
    std::byte* out_;
    const std::size_t lanes_;
    node::Combination inside_;
    engine::Report* const ran_;
    int root_ = -1;
    std::size_t root_number_ = 0;
    bool at_root_ = false;
    bool with_root_ = false;
    bool in_lane_ = false;
    std::size_t lane_ = 0;
    engine::Work work_;
    std::optional<node::Window> window_;
    std::size_t step_ = 0;
  };

  bool is_pointless() const noexcept { return made_ && members_.size() == group_of_.size(); }

  void find_place() noexcept {
    const int rank = engine_.carrier().rank();
    index_ = group_of_[static_cast<std::size_t>(rank)];
    number_ = number_of(rank);
    lanes_ = members_.front().size();
    for (const auto& members : members_) lanes_ = std::min(lanes_, members.size());
  }

  // Collective. Each host's ranks make their memory, and tell all others whether they have it.
  Status meet(double timeout) {
    const std::vector<std::int32_t>& here = members_[static_cast<std::size_t>(index_)];
    std::unique_ptr<node::Collectives> host;
    HostExchange inside(engine_, here, timeout);
    const Status own = here.size() > 1 ? make_(inside, &host) : Status::ok;
    if (const Status s = inside.fill_up(); s != Status::ok) return s;
    std::vector<std::int32_t> everyone(group_of_.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    HostExchange among_all(engine_, everyone, timeout);
    const char lacks = own != Status::ok ? 1 : 0;
    std::vector<char> all;
    if (const Status s = among_all.allgather(lacks, &all); s != Status::ok) return s;
    part(all);
    host_ = std::move(host);
    made_ = true;
    if (!host_) return Status::ok;
    node::Patience& patience = host_->group().patience();
    patience.progress = progress;
    patience.context = this;
    const std::lock_guard lock(watched_->mutex);
    watched_->peers = host_->group().peers();
    return Status::ok;
  }

  // Each rank of a host without memory is a host of its own from now on. `lacks`: by rank.
  void part(const std::vector<char>& lacks) {
    parted_ = std::find(lacks.begin(), lacks.end(), 1) != lacks.end();
    if (!parted_) return;
    std::vector<std::vector<std::int32_t>> members;
    for (const auto& host : members_) {
      if (lacks[static_cast<std::size_t>(host.front())] == 0) {
        members.push_back(host);
        continue;
      }
      for (const std::int32_t r : host) members.push_back({r});
    }
    members_ = std::move(members);
    for (std::size_t g = 0; g < members_.size(); ++g)
      for (const std::int32_t r : members_[g]) group_of_[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(g);
    find_place();
  }

  // The rank's position among the ranks of its host.
  std::size_t number_of(int rank) const noexcept {
    const auto host = static_cast<std::size_t>(group_of_[static_cast<std::size_t>(rank)]);
    const std::vector<std::int32_t>& members = members_[host];
    return static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  }

  // Messages of this rank's lane and started calls, for which another rank may wait, advance while it waits for its
  // host.
  static void progress(void* of) noexcept {
    auto* const own = static_cast<Nodes*>(of);
    static_cast<void>(own->engine_.progress());
    CommunicationCores::mine().drive_here(!own->transport_.any_thread());
    own->transport_.progress();
  }

  // Between `peers`, one of each host. `root`: one of these; negative: none.
  std::shared_ptr<const schedule::Schedule> schedule_of(Collective kind, const select::Choice& choice,
                                                        std::vector<std::int32_t> peers, int root) {
    const std::int32_t root_host = root < 0 ? 0 : group_of_[static_cast<std::size_t>(root)];
    for (const Kept& kept : kept_)
      if (kept.kind == kind && kept.name == choice.schedule && kept.blocks == choice.blocks &&
          kept.radix == choice.radix && kept.root_host == root_host && kept.peers == peers)
        return kept.schedule;
    const schedule::Algorithm* const algorithm = schedule::find(kind, choice.schedule);
    if (!algorithm) return nullptr;
    schedule::Request request;
    request.collective = kind;
    request.ranks = static_cast<std::int32_t>(peers.size());
    request.rank = index_;
    request.root = root_host;
    request.blocks = choice.blocks;
    request.radix = choice.radix;
    auto made = std::make_shared<schedule::Schedule>(algorithm->build(request));
    place_between(peers, root_host, engine_.carrier().rank(), engine_.carrier().size(), made.get());
    if (kept_.size() >= most_kept) kept_.clear();
    kept_.push_back({kind, choice.schedule, choice.blocks, choice.radix, root_host, std::move(peers), made});
    return made;
  }

  static constexpr std::size_t most_kept = 64;

  struct Kept {
    Collective kind;
    std::string name;
    int blocks, radix;
    std::int32_t root_host;
    std::vector<std::int32_t> peers;
    std::shared_ptr<const schedule::Schedule> schedule;
  };

  const MakeHost make_;
  engine::Engine& engine_;
  Transport& transport_;
  std::vector<std::vector<std::int32_t>> members_;  // of each host; those without memory are parted
  std::vector<std::int32_t> group_of_;              // a rank's index in members_
  bool made_ = false;                               // meet() has returned
  bool parted_ = false;                             // some host has no memory
  std::unique_ptr<node::Collectives> host_;         // null: none was made, or this rank is alone
  std::shared_ptr<Watched> watched_;
  std::size_t number_ = 0;  // of this rank among those of its host
  std::size_t lanes_ = 1;   // ranks of the smallest host
  std::int32_t index_ = 0;  // of this rank's host
  std::vector<Kept> kept_;
  std::array<Piece, most_between> between_;
  std::vector<std::byte> copies_;
};

}  // namespace

std::unique_ptr<NodesBackend> make_nodes_backend(MakeHost make, engine::Engine& engine, const schedule::Groups& groups,
                                                 Transport& transport) {
  return std::make_unique<Nodes>(std::move(make), engine, groups, transport);
}

}  // namespace stretto::backend
