// State per communicator of the program, including its stretto_comm. Stored as an attribute, and freed when the program
// frees the communicator.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "carrier/watchdog.hpp"
#include "modules/mpi/duplicates.hpp"
#include "mpi/calls/prepared.hpp"
#include "mpi/settings/rules.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// Kinds of buffer memory. Ranks use the largest that any of them has.
enum class Memory : int {
  host,
  device,  // device memory that the communicator's collectives take
  other    // other device memory, or managed memory, which the driver may have moved to a device
};

struct Communicator {
  explicit Communicator(MPI_Comm of);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  carrier::Watchdog watchdog;   // for blocking calls that are left to the MPI
  stretto_comm comm = nullptr;  // null: not made yet, or impossible
  modules::Duplicates ready;    // duplicates for `comm`, made together with the program's communicator (reserve)
  PreparedByArguments prepared;
  int rank = 0, size = 1;
  bool inter = false;
  bool reserves = false;         // reserve() made `ready`
  std::string refused;           // reason why `comm` cannot be made
  std::optional<Bound> bound;    // from the info key stretto_bound
  Memory memory = Memory::host;  // largest kind that a rank may pass
  int use = 0;                   // counts eligible calls in which this rank met the others
  int wanted = 0;                // use at which `comm` is made, as the ranks agreed; 0: not agreed yet
  std::chrono::steady_clock::time_point made_at{};  // time of making `comm` or the duplicates
  std::chrono::steady_clock::duration reserving{};  // duration of reserve()
  const char* made_by = nullptr;                    // MPI function that made it; null: unknown
  unsigned told = 0;                                // reported failures, a bit per status
  bool told_end = false;                            // the end of the communicator has been reported
  Communicator* kept_before = nullptr;              // next in the list of communicators that the process keeps
};

// For a communicator with spawned or connected processes.
inline constexpr const char* outside_reason = "processes outside MPI_COMM_WORLD";

// Info key of a bound for all floating-point sums on a communicator; "none" removes it.
inline constexpr const char* bound_key = "stretto_bound";

// Making a stretto_comm takes as long as hundreds of short calls. So it waits for 64 calls of less than 1 KiB, or for 3
// long calls, and longer if the program frees its communicators early. A bound makes it at once. Every rank counts
// alike.
inline constexpr int use_before_making = 64;

// Null if the MPI knows no such communicator. Valid until the program frees it.
Communicator* find_communicator(MPI_Comm comm) noexcept;

// Use at which `comm`'s stretto_comm is made: doubled for each communicator that the program freed early, by the rank
// with most of them. The first call per communicator is collective over `comm`.
int use_wanted(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Makes the duplicates for a stretto_comm. With MPI_THREAD_MULTIPLE only functions that make communicators may do so.
// Does nothing in programs that freed several communicators early, or beyond a number of communicators, since an MPI's
// ids are limited. Collective over `comm`.
void reserve(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Makes the stretto_comm; collective over `comm`. False: `refused` has the reason. Processes of another MPI_COMM_WORLD
// may lack this library, so no message is sent if `comm` has one. `limit`: seconds for later agreements.
bool make(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Calls make() unless the program freed communicators early; in such programs communicators wait for enough use.
void make_unless_short_lived(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Largest kind over all ranks; `other` if the MPI fails. Collective over `comm`, through the MPI.
Memory last_of_ranks(Memory here, MPI_Comm comm) noexcept;

// The bound in an info, if any; "none" gives an empty bound. *complaint: reason why a value was ignored as malformed.
std::optional<std::optional<Bound>> bound_in(MPI_Info info, std::string* complaint);

// Applies an info's bound, if any, to the communicator from now on. Returns a complaint about a malformed value, else
// "".
std::string take_info(MPI_Comm comm, MPI_Info info);

// Sets a function to call when the program frees a communicator with a stretto_comm. False: the stretto_comm is kept,
// since it cannot be freed.
void set_before_free(bool (*f)(const Communicator*)) noexcept;

std::string name_of(MPI_Comm comm);

// Called before the end: later frees keep the stretto_comms, since ranks may free in different orders.
void keep_communicators() noexcept;

}  // namespace stretto::mpi
