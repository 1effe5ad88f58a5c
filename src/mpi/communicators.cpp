#include "mpi/communicators.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>

#include "mpi/device.hpp"
#include "mpi/inherited_bound.hpp"
#include "mpi/prepared.hpp"

namespace stretto::mpi {
namespace {

std::atomic<bool> kept{false};
std::atomic<unsigned> generation{0};  // changes when a communicator goes: its handle may come back as another's

int forget(MPI_Comm, int, void* value, void*) noexcept {
  ++generation;
  std::unique_ptr<Communicator> c(static_cast<Communicator*>(value));
  c->prepared.clear();  // before what its calls run by
  if (kept.load() && c->comm)
    static_cast<void>(c.release());  // at MPI_Finalize: the process keeps it
  else
    stretto_comm_free(c->comm);
  return MPI_SUCCESS;
}

// MPI_KEYVAL_INVALID where the MPI gives none. Duplicates do not inherit: each makes its own when it is used.
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
  auto c = std::make_unique<Communicator>();
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &c->rank);
  PMPI_Comm_size(comm, &c->size);
  c->inter = inter != 0;
  c->bound = inherited_bound(comm);
  return c;
}

}  // namespace

Communicator::Communicator() = default;
Communicator::~Communicator() = default;

Communicator* find_communicator(MPI_Comm comm) noexcept {
  struct Found {
    MPI_Comm comm = MPI_COMM_NULL;
    unsigned generation = 0;
    Communicator* found = nullptr;
  };
  static thread_local std::array<Found, 8> lately;  // programs turn between those of rows and of columns
  Found& latest = lately[(std::hash<MPI_Comm>()(comm) * 0x9E3779B97F4A7C15u) >> 61];
  if (latest.comm == comm && latest.found && latest.generation == generation.load(std::memory_order_acquire))
    return latest.found;
  const unsigned now = generation.load();
  Communicator* found = nullptr;
  int present = 0;
  if (keyval() == MPI_KEYVAL_INVALID || PMPI_Comm_get_attr(comm, keyval(), &found, &present) != MPI_SUCCESS)
    return nullptr;
  if (!present) try {
      std::unique_ptr<Communicator> c = describe(comm);
      if (PMPI_Comm_set_attr(comm, keyval(), c.get()) != MPI_SUCCESS) return nullptr;
      found = c.release();
    } catch (...) {
      return nullptr;
    }
  latest = {comm, now, found};
  return found;
}

bool make(MPI_Comm comm, Communicator* c) noexcept {
  if (c->comm) return true;
  if (!c->refused.empty()) return false;
  const stretto_status made = stretto_comm_create(comm, &c->comm);
  if (made == STRETTO_OK) {
    c->devices = on_any_rank(has_driver(), comm);
    return true;
  }
  try {
    c->refused = std::string("no communicator: ") + stretto_message();
    // What the user asked for cannot be: of no communicator, so it is said once.
    static std::atomic<bool> told{false};
    if (made == STRETTO_INVALID_ARGUMENT && c->rank == 0 && !told.exchange(true))
      std::fprintf(stderr, "stretto: %s; calls are left to the MPI\n", stretto_message());
  } catch (...) {
    c->refused = "no memory";
  }
  return false;
}

bool on_any_rank(bool here, MPI_Comm comm) noexcept {
  int given = here ? 1 : 0, any = 1;
  if (PMPI_Allreduce(&given, &any, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS) return true;
  return any != 0;
}

std::optional<std::optional<Bound>> bound_in(MPI_Info info, std::string* complaint) {
  if (info == MPI_INFO_NULL) return std::nullopt;
  char text[MPI_MAX_INFO_VAL + 1] = "";
  int given = 0;
  if (PMPI_Info_get(info, bound_key, MPI_MAX_INFO_VAL, text, &given) != MPI_SUCCESS || !given) return std::nullopt;
  if (std::string_view(text) == "none") return std::optional<Bound>();
  Bound bound;
  if (parse_bound(text, &bound) == Status::ok) return std::optional(bound);
  *complaint = std::string(bound_key) + ": " + message();
  return std::nullopt;
}

std::string take_info(MPI_Comm comm, MPI_Info info) {
  if (comm == MPI_COMM_NULL) return {};
  std::string complaint;
  const std::optional<std::optional<Bound>> given = bound_in(info, &complaint);
  Communicator* c = given ? find_communicator(comm) : nullptr;
  if (!c) return complaint;
  c->prepared.clear();  // they went exact
  c->bound = *given;
  return {};
}

std::string name_of(MPI_Comm comm) {
  char text[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  return PMPI_Comm_get_name(comm, text, &length) == MPI_SUCCESS ? text : "";
}

void keep_communicators() noexcept { kept = true; }

}  // namespace stretto::mpi
