// The ranks of this run: who is on which host, and how a few of them work while the others keep quiet.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stretto::measure {

struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate of the world
  int rank = 0, size = 1;
  int hosts = 1;
  std::vector<int> host_of;        // by rank; hosts are numbered in the order of their lowest rank
  std::vector<std::string> names;  // of the hosts

  explicit Ranks(MPI_Comm world);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  std::vector<int> of_host(int host) const;

  // The first two ranks that share a host, and the first two that do not; {-1, -1} where there are none.
  std::pair<int, int> pair_inside() const;
  std::pair<int, int> pair_between() const;

  // Collective. Runs `work` on the ranks that are `active`; the others sleep until it has ended everywhere, so that they take
  // no core from those that work.
  void while_quiet(bool active, const std::function<void()>& work) const;

  // Collective. What rank `from` holds, on every rank.
  double from(int from, double value) const;
};

// The communicator's own, of the ranks that are `in`; the others get MPI_COMM_NULL. Collective over `parent`.
class SubComm {
 public:
  SubComm(MPI_Comm parent, bool in) { MPI_Comm_split(parent, in ? 0 : MPI_UNDEFINED, 0, &comm_); }
  ~SubComm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  SubComm(const SubComm&) = delete;
  SubComm& operator=(const SubComm&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// "Open MPI 5.0.11": flavour and version, as profiles name an MPI.
std::string mpi_version();

}  // namespace stretto::measure
