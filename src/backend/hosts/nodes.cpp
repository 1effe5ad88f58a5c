#include "backend/hosts/nodes.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backend/hosts/host_exchange.hpp"
#include "backend/hosts/hosts_calls.hpp"
#include "backend/hosts/hosts_short.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "call/schedule_names.hpp"
#include "node/group/watched.hpp"

namespace stretto::backend {

using namespace call;

namespace {

bool is_sum_or_extreme(stretto_op op) noexcept {
  return op == STRETTO_SUM || op == STRETTO_MEAN || op == STRETTO_MIN || op == STRETTO_MAX;
}

bool may_be_mixed(const stretto_options& o) noexcept {
  return o.payload == STRETTO_PAYLOAD_AUTO || o.payload == STRETTO_PAYLOAD_MIXED;
}

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
        hosts_(engine, groups),
        watched_(std::make_shared<Watched>()) {}

  const char* name() const noexcept override { return kNodeName; }

  bool serves(const Call& c) const noexcept override {
    if (c.nonblocking || c.settings.options.raw_below > 0 || is_pointless()) return false;
    switch (c.collective) {
      case Collective::allreduce:
      case Collective::reduce:
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block:
        return c.op != STRETTO_USER && c.op != STRETTO_DIFFERENCE && !rank_by_rank(c) &&
               payload::defined(payload_op(c.op), payload_type(c.type));
      case Collective::bcast:
      case Collective::barrier: return true;
      default: return has_short_blocks(c);
    }
  }

  bool starts(const Call&) const noexcept override { return false; }

  bool streams(const Call& c) const noexcept override {
    const stretto_options& o = c.settings.options;
    if (c.collective == Collective::alltoall) return serves(c) && codes_blocks(c);
    return !hosts_.parted && serves(c) && reduces(c.collective) && o.bound_kind != STRETTO_BOUND_NONE &&
           may_be_mixed(o) && is_floating(c.type) && is_sum_or_extreme(c.op);
  }

  bool runs_at_once(const Call& c, const Decision& d) const noexcept override { return goes_short(c, d); }

  Status run(const Call& c, const Decision& d, engine::Report* ran) noexcept override {
    const std::uint64_t number = engine_.pass();
    std::unique_ptr<ShortCall> made_call;
    const Status s = guarded("for a collective of several hosts", [&]() -> Status {
      if (!made_)
        if (const Status met = meet(timeout_of(c.settings.options)); met != Status::ok) return met;
      if (goes_short(c, d)) {
        made_call = short_call(c, d);
        return Status::ok;
      }
      const bool scatters = schedule::family(c.collective) == Collective::reduce_scatter;
      return (scatters ? run_reduce_scatter : run_vector)(hosts_, c, d, ran);
    });
    if (made_call) return made_call->run_as(engine_.pass(), c.send, c.recv, c.settings.options.timeout, ran);
    if (s == Status::ok) return s;
    // Other hosts wait for messages of this collective.
    std::array<char, 512> text{};
    copy_message(text);
    engine_.give_up(s, text.data(), number);
    hosts_.retain_rooms();
    return fail(s, "{} through the memory of several hosts: {}", schedule::name(c.collective), text.data());
  }

  std::unique_ptr<PreparedCall> prepare(const Call& c, const Decision& d) noexcept override {
    if (!made_ || !goes_short(c, d) || is_pointless()) return nullptr;
    return value_or<std::unique_ptr<PreparedCall>>(nullptr, [&] { return short_call(c, d); });
  }

  void give_up(Status status) noexcept override {
    if (hosts_.host) static_cast<void>(hosts_.host->group().give_up_all(status));
  }

  std::function<std::string()> ended() const override {
    return [watched = watched_] {
      const std::lock_guard lock(watched->mutex);
      return node::ended(watched->peers);
    };
  }

 private:
  int ranks() const noexcept { return static_cast<int>(hosts_.group_of.size()); }
  bool has_short_blocks(const Call& c) const noexcept {
    return backend::has_short_blocks(shape_of(c), ranks(), c.collective == Collective::alltoall && codes_blocks(c));
  }
  // Whatever the type: ranks may name data otherwise.
  static bool codes_blocks(const Call& c) noexcept {
    const stretto_options& o = c.settings.options;
    return o.bound_kind != STRETTO_BOUND_NONE && may_be_mixed(o) && o.coding != STRETTO_CODING_DENSE &&
           has_streams(c.type);
  }
  bool goes_short(const Call& c, const Decision& d) const noexcept {
    if (has_short_blocks(c)) return true;
    if (d.streams() || !is_short(shape_of(c))) return false;
    // A longer one may have been given to pieces.
    return c.count * stretto_type_size(c.type) <= schedule::kLongestShortCall || d.choice.by_lines() ||
           c.settings.schedule == kNodeName;
  }
  std::unique_ptr<ShortCall> short_call(const Call& c, const Decision& d) {
    if (!d.streams()) return make_short_call(hosts_, shape_of(c));
    const stretto_options& o = c.settings.options;
    const BlockCoding coding{codec_type(c.type), o.bound_kind == STRETTO_BOUND_RELATIVE, o.bound, ignore_above(o)};
    return make_short_call(hosts_, shape_of(c), &coding);
  }
  bool is_pointless() const noexcept { return made_ && hosts_.members.size() == hosts_.group_of.size(); }

  // Collective. Each host's ranks make their memory, and tell all whether they have it.
  Status meet(double timeout) {
    const std::vector<std::int32_t>& here = hosts_.members[static_cast<std::size_t>(hosts_.index)];
    std::unique_ptr<node::Collectives> host;
    HostExchange inside(engine_, here, timeout);
    const Status own = here.size() > 1 ? make_(inside, &host) : Status::ok;
    if (const Status s = inside.fill_up(); s != Status::ok) return s;
    std::vector<std::int32_t> everyone(hosts_.group_of.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    HostExchange among_all(engine_, everyone, timeout);
    const char lacks = own != Status::ok ? 1 : 0;
    std::vector<char> all;
    if (const Status s = among_all.allgather(lacks, &all); s != Status::ok) return s;
    hosts_.part(all);
    hosts_.host = std::move(host);
    made_ = true;
    if (!hosts_.host) return Status::ok;
    node::Patience& patience = hosts_.host->group().patience();
    patience.progress = progress;
    patience.context = this;
    const std::lock_guard lock(watched_->mutex);
    watched_->peers = hosts_.host->group().peers();
    return Status::ok;
  }

  // Another rank may wait for this rank's messages and started calls.
  static void progress(void* of) noexcept {
    auto* const own = static_cast<Nodes*>(of);
    static_cast<void>(own->engine_.progress());
    CommunicationCores::mine().drive_here(!own->transport_.any_thread());
    own->transport_.progress();
  }

  const MakeHost make_;
  engine::Engine& engine_;
  Transport& transport_;
  Hosts hosts_;
  bool made_ = false;
  std::shared_ptr<Watched> watched_;
};

}  // namespace

std::unique_ptr<NodesBackend> make_nodes_backend(MakeHost make, engine::Engine& engine, const schedule::Groups& groups,
                                                 Transport& transport) {
  return std::make_unique<Nodes>(std::move(make), engine, groups, transport);
}

}  // namespace stretto::backend
