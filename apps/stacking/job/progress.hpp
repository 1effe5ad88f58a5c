// Progress of work shared by all ranks, shown by rank 0 on standard error: a bar on a terminal, four lines elsewhere.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>

namespace stretto::stacking {

class Progress {
 public:
  // Collective over comm. `total` units over all ranks. comm is borrowed, and carries no other messages.
  Progress(MPI_Comm comm, std::string what, int total);

  // Adds a finished unit of this rank. Rank 0 also receives others' units, and draws.
  void advance();

  // Collective: returns when rank 0 has received all units.
  void finish();

 private:
  void receive(bool wait);
  void draw();

  MPI_Comm comm_;
  std::string what_;
  int total_;
  int done_ = 0;    // on rank 0: of all ranks
  int shown_ = -1;  // last quarter printed, or column of the bar drawn
  int rank_ = 0;
  bool terminal_;
  double start_;
};

// The bar: "migrating 12 shots [#######......]  54 %  3 s left".
std::string bar(const std::string& what, int done, int total, double seconds);

}  // namespace stretto::stacking
