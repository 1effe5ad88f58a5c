#include "mpi/requests/persistent.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/guarded.hpp"
#include "mpi/calls/decide.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failures.hpp"
#include "mpi/process/runtime.hpp"
#include "mpi/requests/started.hpp"

namespace stretto::mpi {
namespace {

using Clock = std::chrono::steady_clock;

class ArgumentCopies {
 public:
  ArgumentCopies(WrappedCall* call, const Decision& d) {
    const Communicator& c = *d.communicator;
    for (int r = 0; r < c.size && call->recvcounts; ++r) counts_.push_back(call->recvcounts[r]);
    if (call->recvcounts) call->recvcounts = counts_.data();
    if (d.shape.element) return;
    types_.reserve(2);
    const bool root = c.rank == call->root, scatters = call->operation == Function::scatter;
    const bool gathers = call->operation == Function::gather, casts = call->operation == Function::bcast;
    if (!casts && (scatters ? root : call->sendbuf != MPI_IN_PLACE)) keep(&call->sendtype);
    if (gathers ? root : !scatters || call->recvbuf != MPI_IN_PLACE) keep(&call->recvtype);
  }
  ~ArgumentCopies() {
    for (MPI_Datatype& type : types_) PMPI_Type_free(&type);
  }
  ArgumentCopies(const ArgumentCopies&) = delete;
  ArgumentCopies& operator=(const ArgumentCopies&) = delete;

 private:
  // Predefined types stay: a copy would not be recognised as dense.
  void keep(MPI_Datatype* type) noexcept {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    if (PMPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return;
    MPI_Datatype own = MPI_DATATYPE_NULL;
    if (combiner == MPI_COMBINER_NAMED || PMPI_Type_dup(*type, &own) != MPI_SUCCESS) return;
    types_.push_back(own);
    *type = own;
  }

  std::vector<MPI_Datatype> types_;
  std::vector<std::int64_t> counts_;
};

struct Prepared {
  explicit Prepared(const WrappedCall& c) : call(c) {}

  WrappedCall call;
  Decision decision;
  Communicator* communicator = nullptr;
  MPI_Request run = MPI_REQUEST_NULL;
  bool was_ours = false;
  std::shared_ptr<const ArgumentCopies> kept;

  // The MPI's own request is never started.
  bool runs_itself() const noexcept { return communicator || run != MPI_REQUEST_NULL; }
};

std::atomic<int> ours{0};  // entries that were stretto's when made

// Lookups lock only if the request's bit is set.
class PersistentTable {
 public:
  void put(MPI_Request request, const Prepared& p) {
    const std::lock_guard lock(mutex_);
    erase_locked(request);
    all_.emplace(request, p);
    ++requests_[place(request)];
    bits_.fetch_or(bit(request), std::memory_order_release);
    if (p.was_ours) ours.fetch_add(1, std::memory_order_release);
  }
  void erase(MPI_Request request) noexcept {
    if (!may_have(request)) return;
    const std::lock_guard lock(mutex_);
    erase_locked(request);
  }
  std::optional<Prepared> find(MPI_Request request) {
    if (!may_have(request)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() ? std::nullopt : std::optional(found->second);
  }
  bool may_have(MPI_Request request) const noexcept {
    return (bits_.load(std::memory_order_acquire) & bit(request)) != 0;
  }
  bool runs(MPI_Request request) noexcept {
    if (!may_have(request)) return false;
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    return found != all_.end() && found->second.runs_itself();
  }
  std::optional<WrappedCall> call_of(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() || !found->second.communicator ? std::nullopt : std::optional(found->second.call);
  }
  std::vector<MPI_Request> passed_of(std::span<const MPI_Request> requests) {
    std::vector<MPI_Request> own;
    std::unique_lock lock(mutex_, std::defer_lock);
    const std::uint64_t bits = bits_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if ((bits & bit(requests[i])) == 0) continue;
      if (!lock) lock.lock();
      const auto found = all_.find(requests[i]);
      if (found == all_.end() || !found->second.runs_itself()) continue;
      if (own.empty()) own.assign(requests.begin(), requests.end());
      own[i] = found->second.run;
    }
    return own;
  }
  void forget(const Communicator* c) noexcept {
    const std::lock_guard lock(mutex_);
    for (auto& [request, p] : all_)
      if (p.communicator == c) p.communicator = nullptr;
  }
  void set_run(MPI_Request request, MPI_Request run) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = all_.find(request); found != all_.end()) found->second.run = run;
  }

 private:
  using Handle = std::conditional_t<sizeof(MPI_Request) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;

  static std::size_t place(MPI_Request request) noexcept {
    return (std::bit_cast<Handle>(request) * 0x9e3779b97f4a7c15U) >> 58U;
  }
  static std::uint64_t bit(MPI_Request request) noexcept { return std::uint64_t{1} << place(request); }

  void erase_locked(MPI_Request request) noexcept {
    const auto found = all_.find(request);
    if (found == all_.end()) return;
    if (found->second.was_ours) ours.fetch_sub(1, std::memory_order_release);
    all_.erase(found);
    if (--requests_[place(request)] == 0) bits_.fetch_and(~bit(request), std::memory_order_release);
  }

  std::mutex mutex_;
  std::map<MPI_Request, Prepared> all_;
  std::array<std::size_t, 64> requests_{};
  std::atomic<std::uint64_t> bits_{0};
};

// Never destroyed: programs end late. Allocates nothing.
PersistentTable& persistent_table() noexcept {
  alignas(PersistentTable) static std::byte place[sizeof(PersistentTable)];
  static PersistentTable& table = *new (place) PersistentTable;
  return table;
}

int start_run(MPI_Request request, const Prepared& p) noexcept {
  MPI_Request run = MPI_REQUEST_NULL;
  const int code = start_driven(p.call, p.decision, runtime()->settings, &run);
  if (run == MPI_REQUEST_NULL) return code;
  persistent_table().set_run(request, run);
  return code;
}

void count(const Prepared& p, double seconds) noexcept {
  Runtime* const r = runtime();
  if (!r || !r->settings.report) return;
  Tally t;
  t.calls = 1;
  t.bytes = static_cast<double>(p.decision.shape.bytes);
  t.seconds = seconds;
  static_cast<void>(attempt([&] {  // otherwise missing in the report
    r->statistics.add({name_of_start(p.call), "MPI", r->apart ? kApartReason : "persistent"}, t, Server::mpi);
  }));
}

// Giving up ends the waits of ranks that started theirs.
int none_started(std::span<const MPI_Request> requests) noexcept {
  int code = MPI_ERR_NO_MEM;
  for (const MPI_Request request : requests) {
    const std::optional<WrappedCall> call = persistent_table().call_of(request);
    const Communicator* const c = call ? find_communicator(call->comm) : nullptr;
    if (!c) continue;
    give_up(*c, fail(Status::out_of_memory, std::string_view("no memory to start a persistent collective")));
    code = raise(*call, STRETTO_OUT_OF_MEMORY);
  }
  return code;
}

}  // namespace

bool follows_starts() noexcept {
  const Runtime* r = runtime();
  return r && (r->settings.report || r->cores);
}

void prepared(const WrappedCall& call, MPI_Request request) noexcept {
  if (!follows_starts() || call.comm == MPI_COMM_NULL) return;
  Communicator* const c = find_communicator(call.comm);
  const Status s = guarded("for a persistent collective", [&] {
    Prepared p(call);
    p.decision = decide(call, c, *runtime());
    if (!p.decision.why) p.communicator = p.decision.communicator;
    p.was_ours = p.communicator != nullptr;
    if (p.was_ours) p.kept = std::make_shared<const ArgumentCopies>(&p.call, p.decision);
    persistent_table().put(request, p);
  });
  // The MPI gets uncounted starts; other ranks may start stretto's.
  if (s != Status::ok && c) give_up(*c, s);
}

int start(std::span<const MPI_Request> requests, Native native) noexcept {
  const auto may_be_known = [](MPI_Request request) { return persistent_table().may_have(request); };
  if (!follows_starts() || std::none_of(requests.begin(), requests.end(), may_be_known)) return native();
  std::vector<std::optional<Prepared>> known;
  bool ours = false;
  const bool found = attempt([&] {
    for (const MPI_Request request : requests) {
      known.push_back(persistent_table().find(request));
      ours = ours || (known.back() && known.back()->communicator);
    }
  });
  if (!found) return none_started(requests);
  const Clock::time_point begun = Clock::now();
  int code = MPI_SUCCESS;
  if (!ours) code = native();
  for (std::size_t i = 0; i < known.size() && ours && code == MPI_SUCCESS; ++i) {
    MPI_Request request = requests[i];
    const bool runs = known[i] && known[i]->communicator;
    code = runs ? start_run(request, *known[i]) : PMPI_Start(&request);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  for (const auto& p : known)
    if (p && !p->communicator) count(*p, seconds / static_cast<double>(requests.size()));
  return code;
}

void released(MPI_Request request) noexcept {
  if (follows_starts()) persistent_table().erase(request);
}

void forget_prepared(const Communicator* c) noexcept { persistent_table().forget(c); }

int persistent_of_ours() noexcept { return ours.load(std::memory_order_acquire); }

bool is_persistent_of_ours(MPI_Request request) noexcept { return persistent_table().runs(request); }

std::vector<MPI_Request> passed_of(std::span<const MPI_Request> requests) {
  return persistent_table().passed_of(requests);
}

void run_ended(MPI_Request request) noexcept { persistent_table().set_run(request, MPI_REQUEST_NULL); }

}  // namespace stretto::mpi

using namespace stretto::mpi;

STRETTO_WRAPPER int MPI_Start(MPI_Request* request) {
  const auto native = [&] { return PMPI_Start(request); };
  return request ? start({request, 1}, native) : native();
}

STRETTO_WRAPPER int MPI_Startall(int count, MPI_Request requests[]) {
  const auto native = [&] { return PMPI_Startall(count, requests); };
  return count > 0 && requests ? start({requests, static_cast<std::size_t>(count)}, native) : native();
}
