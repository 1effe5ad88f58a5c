#include "mpi/process/communicators.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "modules/mpi/limit.hpp"
#include "modules/mpi/transport.hpp"
#include "mpi/calls/device.hpp"
#include "mpi/calls/recursion_guard.hpp"
#include "mpi/process/inherited_bound.hpp"
#include "mpi/process/tell.hpp"

namespace stretto::mpi {
namespace {

std::atomic<bool> kept{false};
std::atomic<bool (*)(const Communicator*)> before_free{nullptr};
std::atomic<unsigned> generation{0};  // changes when a communicator is freed: a handle may be reused

using Clock = std::chrono::steady_clock;

// An agreement makes ranks wait for each other, unlike pipelined broadcasts.
constexpr int kMostTimesBetweenAgreements = 8;

// A stretto_comm must live this many times as long as its making takes.
constexpr int kLeastLifeInMakings = 20;
constexpr int kMostShortLives = 10;

// MPICH has only 2,048 ids.
constexpr int kMostReserved = 64;
std::atomic<int> reserved{0};

// Lives are expected to be like earlier ones.
std::atomic<int> short_lives{0};
constexpr Clock::rep kNever = Clock::rep{1} << 60;
// shortest; others include waits for late ranks
std::atomic<Clock::rep> making{kNever}, making_between_hosts{kNever};
std::atomic<int> made_between_hosts{0};

// Expected time of making a stretto_comm that spans hosts. The first in a process probes the network and the codec.
Clock::duration price() noexcept {
  constexpr std::chrono::milliseconds first{60}, second{10};
  switch (made_between_hosts.load()) {
    case 0: return first;
    case 1: return second;
    default: return Clock::duration(making_between_hosts.load());
  }
}

void lower(std::atomic<Clock::rep>* least, Clock::duration took) noexcept {
  Clock::rep so_far = least->load();
  while (took.count() < so_far && !least->compare_exchange_weak(so_far, took.count())) {
  }
}

void count_making(Clock::duration took, bool between_hosts) noexcept {
  lower(&making, took);
  if (!between_hosts) return;
  lower(&making_between_hosts, took);
  ++made_between_hosts;  // last: price() then reads a time
}

void count_life(Clock::duration lived, Clock::rep cost) noexcept {
  const int change = lived.count() / kLeastLifeInMakings < cost ? 1 : -1;
  int so_far = short_lives.load();
  while (!short_lives.compare_exchange_weak(so_far, std::clamp(so_far + change, 0, kMostShortLives))) {
  }
}

// Reachable for leak checkers.
std::atomic<Communicator*> all_kept{nullptr};

void keep(Communicator* c) noexcept {
  c->kept_before = all_kept.load();
  while (!all_kept.compare_exchange_weak(c->kept_before, c)) {
  }
}

int forget(MPI_Comm, int, void* value, void*) noexcept {
  ++generation;
  std::unique_ptr<Communicator> c(static_cast<Communicator*>(value));
  if (c->reserves) --reserved;
  if (kept.load()) {
    keep(c.release());
  } else if (!c->comm) {
    if (c->reserves) count_life(Clock::now() - c->made_at, c->reserving.count());
  } else if (const auto before = before_free.load(); before && !before(c.get())) {
    keep(c.release());
  } else {
    count_life(Clock::now() - c->made_at, making.load());
    stretto_comm_free(c->comm);
  }
  return MPI_SUCCESS;
}

// Duplicates do not inherit the attribute.
int keyval() noexcept {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr) != MPI_SUCCESS)
      made = MPI_KEYVAL_INVALID;
    return made;
  }();
  return key;
}

std::unique_ptr<Communicator> describe(MPI_Comm comm) {
  auto c = std::make_unique<Communicator>(comm);
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &c->rank);
  PMPI_Comm_size(comm, &c->size);
  c->inter = inter != 0;
  c->bound = inherited_bound(comm);
  return c;
}

// Equal on every rank. Allocates nothing: a rank without memory would answer differently.
bool within_world(MPI_Comm comm, int ranks) noexcept {
  std::array<int, 256> here, there;
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  bool within = PMPI_Comm_group(comm, &group) == MPI_SUCCESS && PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
  for (int from = 0; from < ranks && within; from += static_cast<int>(here.size())) {
    const int n = std::min(ranks - from, static_cast<int>(here.size()));
    std::iota(here.begin(), here.begin() + n, from);
    within = PMPI_Group_translate_ranks(group, n, here.data(), world, there.data()) == MPI_SUCCESS &&
             std::find(there.begin(), there.begin() + n, MPI_UNDEFINED) == there.begin() + n;
  }
  if (group != MPI_GROUP_NULL) PMPI_Group_free(&group);
  if (world != MPI_GROUP_NULL) PMPI_Group_free(&world);
  return within;
}

struct MakingAgreement {
  int use = kUseBeforeMaking;
  double lacks = 1;  // price over affordable time, the most of all ranks; at most 1: it pays
  bool spans_hosts = false;
};

// Collective over `comm`.
MakingAgreement agree_on_making(MPI_Comm comm, Communicator* c, double limit) noexcept {
  const carrier::Limited limited(&c->watchdog, "stretto_comm_create", limit);
  const bool spare = reserved.load() < kMostReserved;
  const auto host = static_cast<long long>(api::host_hash());
  std::array<long long, 5> most{kUseBeforeMaking << (spare ? short_lives.load() : kMostShortLives),
                                std::chrono::nanoseconds(c->early.affordable()).count(),
                                std::chrono::nanoseconds(price()).count(), host, ~host};
  if (PMPI_Allreduce(MPI_IN_PLACE, most.data(), int{most.size()}, MPI_LONG_LONG, MPI_MAX, comm) != MPI_SUCCESS)
    return {};
  return {static_cast<int>(most[0]), static_cast<double>(most[2]) / static_cast<double>(std::max(most[1], 1LL)),
          most[3] != ~most[4]};
}

MakingAgreement first_agreement(MPI_Comm comm, Communicator* c, double limit) noexcept {
  const MakingAgreement agreed = agree_on_making(comm, c, limit);
  c->wanted = agreed.use;
  c->spans_hosts = agreed.spans_hosts;
  return agreed;
}

stretto_status create(MPI_Comm comm, modules::Duplicates ready, stretto_comm* made) noexcept {
  std::unique_ptr<backend::Transport> transport;
  const Status s = modules::make_mpi_transport(comm, &transport, std::move(ready));
  return call::to_c(s == Status::ok ? api::create(std::move(transport), model::Carrier::mpi, made) : s);
}

}  // namespace

Communicator::Communicator(MPI_Comm of) : watchdog(modules::abort_program(of, {})) {}
Communicator::~Communicator() = default;

Communicator* find_communicator(MPI_Comm comm) noexcept {
  struct CachedCommunicator {
    MPI_Comm comm = MPI_COMM_NULL;
    unsigned generation = 0;
    Communicator* found = nullptr;
  };
  static thread_local std::array<CachedCommunicator, 8> lately;
  CachedCommunicator& latest = lately[(std::hash<MPI_Comm>()(comm) * 0x9E3779B97F4A7C15u) >> 61];
  if (latest.comm == comm && latest.found && latest.generation == generation.load(std::memory_order_acquire))
    return latest.found;
  const unsigned now = generation.load();
  Communicator* found = nullptr;
  int present = 0;
  if (keyval() == MPI_KEYVAL_INVALID || PMPI_Comm_get_attr(comm, keyval(), &found, &present) != MPI_SUCCESS)
    return nullptr;
  if (!present) {
    auto c = value_or<std::unique_ptr<Communicator>>(nullptr, [comm] { return describe(comm); });
    if (!c || PMPI_Comm_set_attr(comm, keyval(), c.get()) != MPI_SUCCESS) return nullptr;
    found = c.release();
  }
  latest = {comm, now, found};
  return found;
}

int use_wanted(MPI_Comm comm, Communicator* c, double limit) noexcept {
  if (c->wanted > 0) return c->wanted;
  if (!within_world(comm, c->size)) return kUseBeforeMaking;
  return first_agreement(comm, c, limit).use;
}

bool is_due(MPI_Comm comm, Communicator* c, bool must_pay, double limit) noexcept {
  std::optional<MakingAgreement> agreed;
  if (c->wanted == 0) {
    if (!within_world(comm, c->size)) return true;  // refused by make()
    agreed = first_agreement(comm, c, limit);
  }
  if (c->use < c->wanted) return false;
  if (!must_pay || !c->spans_hosts) return true;
  if (c->use < c->ask_again_at) return false;
  if (!agreed) agreed = agree_on_making(comm, c, limit);
  if (agreed->lacks <= 1) return true;
  const double next = c->use * std::clamp(agreed->lacks / 2, 2.0, static_cast<double>(kMostTimesBetweenAgreements));
  c->ask_again_at = static_cast<int>(std::min(next, static_cast<double>(INT_MAX)));
  return false;
}

void reserve(MPI_Comm comm, Communicator* c, double limit) noexcept {
  constexpr int patience = 3;
  if (c->inter || c->size == 1 || !within_world(comm, c->size)) return;
  if (use_wanted(comm, c, limit) > kUseBeforeMaking << patience) return;
  const RecursionGuard guard;  // the MPI calls the program's attribute functions
  const Clock::time_point begun = Clock::now();
  c->reserves = c->ready.make(comm);
  if (!c->reserves) return;
  ++reserved;
  c->made_at = Clock::now();
  c->reserving = c->made_at - begun;
}

bool make(MPI_Comm comm, Communicator* c, double limit) noexcept {
  if (c->comm) return true;
  if (!c->refused.empty()) return false;
  const Clock::time_point begun = Clock::now();
  const bool within = within_world(comm, c->size);
  const stretto_status made = within ? create(comm, std::move(c->ready), &c->comm) : STRETTO_UNSUPPORTED;
  if (made == STRETTO_OK) {
    c->made_at = Clock::now();
    c->comm->let_starts_run_exactly();
    count_making(c->made_at - begun, c->comm->hosts() > 1);
    static_cast<void>(attempt([&] {  // otherwise missing in the diagnosis
      if (auto ended = c->comm->ended()) c->watchdog.set_late(modules::abort_program(comm, std::move(ended)));
    }));
    const carrier::Limited limited(&c->watchdog, "allreduce", limit);
    c->memory = last_of_ranks(memory_in_reach(*c), comm);
    return true;
  }
  c->refused = value_or(std::string("no memory"), [within] {
    return within ? std::string("no communicator: ") + stretto_message() : std::string(kOutsideReason);
  });
  static std::atomic<bool> told{false};
  if (within && made == STRETTO_INVALID_ARGUMENT && c->rank == 0 && !told.exchange(true))
    std::fprintf(stderr, "stretto: %s; calls are left to the MPI\n", stretto_message());
  return false;
}

void make_unless_short_lived(MPI_Comm comm, Communicator* c, double limit) noexcept {
  if (use_wanted(comm, c, limit) == kUseBeforeMaking) static_cast<void>(make(comm, c, limit));
}

Memory last_of_ranks(Memory here, MPI_Comm comm) noexcept {
  const int mine = static_cast<int>(here);
  int last = mine;
  const bool agreed = PMPI_Allreduce(&mine, &last, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS;
  return agreed ? static_cast<Memory>(last) : Memory::other;
}

std::optional<std::optional<Bound>> bound_in(MPI_Info info, std::string* complaint) {
  if (info == MPI_INFO_NULL) return std::nullopt;
  char text[MPI_MAX_INFO_VAL + 1] = "";
  int given = 0;
  if (PMPI_Info_get(info, kBoundKey, MPI_MAX_INFO_VAL, text, &given) != MPI_SUCCESS || !given) return std::nullopt;
  if (std::string_view(text) == "none") return std::optional<Bound>();
  Bound bound;
  if (parse_bound(text, &bound) == Status::ok) {
    if (const std::string remark = remark_on(bound); !remark.empty()) tell_once(std::string(kBoundKey) + ": " + remark);
    return std::optional(bound);
  }
  *complaint = std::string(kBoundKey) + ": " + message();
  return std::nullopt;
}

std::string take_info(MPI_Comm comm, MPI_Info info) {
  if (comm == MPI_COMM_NULL) return {};
  std::string complaint;
  const std::optional<std::optional<Bound>> given = bound_in(info, &complaint);
  Communicator* c = given ? find_communicator(comm) : nullptr;
  if (!c) return complaint;
  if (c->comm) c->comm->forget_prepared();
  c->bound = *given;
  return {};
}

std::string name_of(MPI_Comm comm) {
  char text[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  return PMPI_Comm_get_name(comm, text, &length) == MPI_SUCCESS ? text : "";
}

void set_before_free(bool (*f)(const Communicator*)) noexcept { before_free = f; }

void keep_communicators() noexcept { kept = true; }

}  // namespace stretto::mpi
