#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "carrier/watchdog.hpp"
#include "modules/mpi/duplicates.hpp"
#include "mpi/process/early_time.hpp"
#include "mpi/settings/rules.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

enum class Memory : int {
  host,
  device,
  other  // other devices' or managed memory, which the driver may have moved
};

struct Communicator {
  explicit Communicator(MPI_Comm of);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  carrier::Watchdog watchdog;
  stretto_comm comm = nullptr;
  modules::Duplicates ready;
  int rank = 0, size = 1;
  bool inter = false;
  bool reserves = false;
  std::string refused;
  std::optional<Bound> bound;
  Memory memory = Memory::host;
  int use = 0;               // eligible calls that met the other ranks
  int wanted = 0;            // least `use` at which ranks make `comm`; 0: not agreed on yet
  int ask_again_at = 0;      // `use` at which ranks reconsider a making that did not pay
  bool spans_hosts = false;  // known once `wanted` is
  EarlyTime early;
  std::chrono::steady_clock::time_point made_at{};
  std::chrono::steady_clock::duration reserving{};
  const char* made_by = nullptr;
  unsigned told = 0;  // failures, a bit per status
  bool told_end = false;
  Communicator* kept_before = nullptr;
};

inline constexpr const char* kOutsideReason = "processes outside MPI_COMM_WORLD";

inline constexpr const char* kBoundKey = "stretto_bound";

// Making a stretto_comm takes as long as hundreds of short calls.
inline constexpr int kUseBeforeMaking = 64;

// Kept as an attribute; null if the MPI does not know it. Valid until the program frees the communicator.
Communicator* find_communicator(MPI_Comm comm) noexcept;

// Use at which the stretto_comm is made: doubled per communicator freed early, by the rank with most. The first call
// per communicator is collective.
int use_wanted(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Equal on all ranks. `must_pay`: if the communicator spans hosts, its calls must have taken long enough. Collective at
// the first call, and, if it must pay, when the use has grown to between two and eight times as much. Precondition:
// `use` is at least kUseBeforeMaking.
bool is_due(MPI_Comm comm, Communicator* c, bool must_pay, double limit) noexcept;

// With MPI_THREAD_MULTIPLE only functions that make communicators may make duplicates. Does nothing after several early
// frees, or beyond a number of communicators, since ids are limited. Collective over `comm`.
void reserve(MPI_Comm comm, Communicator* c, double limit) noexcept;

// False: `refused` has the reason. Sends no message if a process is outside this MPI_COMM_WORLD, which may lack this
// library. `limit`: seconds for later agreements. Collective over `comm`.
bool make(MPI_Comm comm, Communicator* c, double limit) noexcept;

void make_unless_short_lived(MPI_Comm comm, Communicator* c, double limit) noexcept;

// `other` if the MPI fails. Collective over `comm`.
Memory last_of_ranks(Memory here, MPI_Comm comm) noexcept;

// "none" gives an empty bound. *complaint: why a malformed value was ignored.
std::optional<std::optional<Bound>> bound_in(MPI_Info info, std::string* complaint);

// Returns a complaint about a malformed value, or "".
std::string take_info(MPI_Comm comm, MPI_Info info);

// `f` runs before a communicator with a stretto_comm is freed. False: the stretto_comm is kept.
void set_before_free(bool (*f)(const Communicator*)) noexcept;

std::string name_of(MPI_Comm comm);

// Later frees keep stretto_comms: at the end ranks may free in different orders.
void keep_communicators() noexcept;

}  // namespace stretto::mpi
