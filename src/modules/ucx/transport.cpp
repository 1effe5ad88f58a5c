#include "modules/ucx/transport.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "carrier/rendezvous.hpp"
#include "modules/ucx/carrier.hpp"
#include "modules/ucx/device_messages.hpp"
#include "modules/ucx/worker.hpp"

namespace stretto::modules {
namespace {

enum Channel : unsigned { exchange, first_carrier };

class UcxTransport final : public backend::Transport {
 public:
  UcxTransport(std::unique_ptr<UcxWorker> worker, double limit) noexcept : worker_(std::move(worker)), limit_(limit) {}

  // Waits a moment for other ranks' last messages: closed connections look like a death.
  ~UcxTransport() override {
    if (!created_ || worker_->losses() > 0) return;
    char mine = 0;
    static_cast<void>(attempt([&] {
      const std::string told = message();
      std::vector<char> all(static_cast<std::size_t>(size()));
      node::CarrierExchange farewell(*messages_, kTagOfFarewells,
                                     limit_ > 0 ? std::min(limit_, kLongestFarewell) : kLongestFarewell);
      static_cast<void>(farewell.allgather(&mine, 1, all.data()));
      static_cast<void>(fail(Status::ok, std::string_view(told)));
    }));
  }
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  // After the worker has joined. Collective.
  Status open() noexcept {
    if (const Status s = make_ucx_carrier(*worker_, Channel::exchange, 1, &messages_); s != Status::ok) return s;
    exchange_.reset(new (std::nothrow) node::CarrierExchange(*messages_, 0, limit_));
    return exchange_ ? Status::ok : fail(Status::out_of_memory, std::string_view("no memory for an exchange"));
  }

  int rank() const noexcept override { return worker_->rank(); }
  int size() const noexcept override { return worker_->size(); }
  using Exchange::allgather;
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    return exchange_->allgather(mine, bytes, all);
  }

  Status broadcast(void* data, std::size_t bytes) noexcept override {
    int held = 1;
    while (held < size()) held *= 2;
    for (bool has = rank() == 0; held > 1; held /= 2) {
      const int half = held / 2, within = rank() % held;
      Status s = Status::ok;
      if (has && rank() + half < size())
        s = pass(rank() + half, data, bytes, true);
      else if (!has && within == half)
        s = pass(rank() - half, data, bytes, false), has = true;
      if (s != Status::ok) return s;
    }
    return Status::ok;
  }

  std::string name() const override {
    const std::string version = worker_->ucp().get_version_string();
    return "UCX " + version.substr(0, version.find_first_not_of("0123456789."));
  }

  Status make_carrier(std::unique_ptr<carrier::Carrier>* carrier) noexcept override {
    if (next_ == kChannelOfPieces)
      return fail(Status::unsupported, "more than {} carriers over one UCX", kChannelOfPieces - Channel::first_carrier);
    return make_ucx_carrier(*worker_, next_++, worker_->connections(), carrier);
  }
  Status make_device_messages(const device::Plugin&, int, double,
                              std::unique_ptr<carrier::DeviceMessages>* made) noexcept override {
    made->reset();
    const Status mine = worker_->takes_device_memory() ? make_ucx_device_messages(*worker_, made) : Status::unsupported;
    const Status all = node::agree(*this, mine);
    if (all != Status::ok) made->reset();
    return all == Status::unsupported ? Status::ok : all;
  }
  std::unique_ptr<backend::Backend> make_native() override { return nullptr; }
  std::size_t eager_limit() noexcept override { return 0; }
  bool any_thread() const noexcept override { return true; }

  std::vector<int> numbers() const override {
    std::vector<int> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // By the environment of torchrun, Slurm and others, else none.
  int others_here() const noexcept override {
    for (const char* name : {"LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE", "MPI_LOCALNRANKS"}) {
      const char* told = secure_getenv(name);
      if (const int here = told ? std::atoi(told) : 0; here > 0) return std::max(0, here - size());
    }
    return 0;
  }

  void progress() noexcept override { worker_->progress(); }
  void created(std::function<std::string()>) noexcept override { created_ = true; }

 private:
  Status pass(int peer, void* data, std::size_t bytes, bool sends) noexcept {
    Status s = sends ? messages_->start_send(peer, kTagOfBroadcasts, data, bytes, 0)
                     : messages_->start_recv(peer, kTagOfBroadcasts, data, bytes, 0);
    carrier::Completion done;
    std::size_t n = 0;
    if (s == Status::ok) s = messages_->wait_any({&done, 1}, &n, limit_);
    if (s != Status::ok) return s;
    if (n == 0) {
      messages_->cancel(0);
      return fail(Status::timeout, "rank {} did not come within {} s", peer, limit_);
    }
    return done.status;
  }

  static constexpr std::uint64_t kTagOfBroadcasts = std::uint64_t{1} << 19, kTagOfFarewells = kTagOfBroadcasts + 1;
  static constexpr double kLongestFarewell = 2;

  const std::unique_ptr<UcxWorker> worker_;
  const double limit_;
  std::unique_ptr<carrier::Carrier> messages_;
  std::unique_ptr<node::Exchange> exchange_;
  unsigned next_ = Channel::first_carrier;
  bool created_ = false;
};

}  // namespace

Status make_ucx_transport(carrier::Store& store, const backend::Place& place,
                          std::unique_ptr<backend::Transport>* transport) noexcept {
  if (place.size > kMostRanks)
    return fail(Status::unsupported, "{} ranks; a communicator over UCX has at most {}", place.size, kMostRanks);
  return guarded("for a communicator over UCX", [&] {
    std::unique_ptr<UcxWorker> worker;
    carrier::Participant me{place.name, place.rank, place.size, STRETTO_VERSION, {}, {}};
    Status own = UcxWorker::make(place.transports, &worker);
    if (own == Status::ok) own = worker->address(&me.address);
    if (own != Status::ok) me.failure = message();
    carrier::Session session;
    const Status met = carrier::meet_in(store, me, place.limit, &session);
    if (own != Status::ok) return fail(own, std::string_view(me.failure));
    if (met != Status::ok) return met;
    worker->join(session, place.rank);
    auto made = std::make_unique<UcxTransport>(std::move(worker), place.limit);
    if (const Status s = made->open(); s != Status::ok) return s;  // others wait for their limit
    const Status room = guarded("for the exchanges of a communicator", [&] { made->make_room(); });
    if (const Status s = node::agree(*made, room); s != Status::ok) return s;
    if (place.rank == 0) carrier::clean_up(store, session);
    *transport = std::move(made);
    return Status::ok;
  });
}

}  // namespace stretto::modules
