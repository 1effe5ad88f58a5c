// What is known of the program's communicators, each with its stretto_comm, kept with it as an attribute and freed when the program
// frees it.
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

// Where buffers lie. Ranks go by the last of these that one of them has.
enum class Memory : int {
  host,
  device,  // that the communicator's collectives take
  other    // a device's, or managed memory, which the driver may have moved there
};

struct Communicator {
  explicit Communicator(MPI_Comm of);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  carrier::Watchdog watchdog;   // of blocking calls that are left to the MPI
  stretto_comm comm = nullptr;  // null: not made yet, or it cannot be
  modules::Duplicates ready;    // for `comm`, made with the program's communicator (reserve)
  PreparedByArguments prepared;
  int rank = 0, size = 1;
  bool inter = false;
  bool reserves = false;         // reserve() made `ready`
  std::string refused;           // why none is made
  std::optional<Bound> bound;    // by the info key stretto_bound
  Memory memory = Memory::host;  // the last that a rank may hand over
  int use = 0;                   // by calls that could have been served, and in which this rank met the others
  int wanted = 0;                // use before `comm` is made, as the ranks agreed; 0: not yet
  std::chrono::steady_clock::time_point made_at{};  // `comm`, or what reserve() makes
  std::chrono::steady_clock::duration reserving{};  // how long that took
  const char* made_by = nullptr;                    // the MPI's function; null: not known
  unsigned told = 0;                                // failures that were told: a bit for each status
  bool told_end = false;                            // and with one of them that nothing is served any more
  Communicator* kept_before = nullptr;              // the communicator that the process kept before this one
};

// Of a communicator with processes that were spawned or connected to.
inline constexpr const char* outside_reason = "processes outside MPI_COMM_WORLD";

// The info key of a bound for all floating sums on a communicator; "none" takes it back.
inline constexpr const char* bound_key = "stretto_bound";

// Making a stretto_comm takes as long as hundreds of short calls. So it is made for a communicator that the program uses much:
// after 64 calls of less than 1 KiB, or after 3 long ones, and later where the program frees its communicators too soon for that. A bound to
// keep makes it at once. Every rank counts alike.
inline constexpr int use_before_making = 64;

// Null where the MPI cannot say anything of it. Valid until the program frees the communicator.
Communicator* find_communicator(MPI_Comm comm) noexcept;

// The use that a communicator must have before its stretto_comm is made, twice as much for each that the program
// freed soon after, on the rank with most of these. Collective over `comm` at a communicator's first question.
int use_wanted(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Makes what a stretto_comm needs that only a function which makes communicators may make where the program has
// MPI_THREAD_MULTIPLE. Not for programs that freed several communicators too soon, nor beyond a number of communicators,
// since an MPI has a limited number of ids. Collective over `comm`, inside such a function.
void reserve(MPI_Comm comm, Communicator* c, double limit) noexcept;

// Makes the stretto_comm: collective over `comm`. False: `refused` says why. Processes of another MPI_COMM_WORLD need not run this
// library: with one of them no message is sent. `limit`: seconds for what is agreed after.
bool make(MPI_Comm comm, Communicator* c, double limit) noexcept;

// The same, but for programs that freed communicators too soon before: those take what they get after enough use.
void make_unless_short_lived(MPI_Comm comm, Communicator* c, double limit) noexcept;

// The last that a rank has; `other` where the MPI fails. Collective over `comm`, by the MPI.
Memory last_of_ranks(Memory here, MPI_Comm comm) noexcept;

// Whether an info has a bound, and which: none for "none". *complaint says why it cannot be read, which counts as not there.
std::optional<std::optional<Bound>> bound_in(MPI_Info info, std::string* complaint);

// The communicator was given this info: its bound, if it is there, counts from now on. A complaint where it cannot be read, else empty.
std::string take_info(MPI_Comm comm, MPI_Info info);

// From now on called when the program frees a communicator that has a stretto_comm. False: that cannot be freed, and stays.
void set_before_free(bool (*f)(const Communicator*)) noexcept;

std::string name_of(MPI_Comm comm);

// The end is near: what is still there stays, since ranks may free in different orders.
void keep_communicators() noexcept;

}  // namespace stretto::mpi
