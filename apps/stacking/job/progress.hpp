// Progress of work that all ranks share, shown by rank 0 on standard error: a bar on a terminal, four lines elsewhere.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>

namespace stretto::stacking {

class Progress {
 public:
  // Collective over comm. `total` units over all ranks together; comm is borrowed, and its messages are this object's alone.
  Progress(MPI_Comm comm, std::string what, int total);

  // This rank has done one unit more. On rank 0 it also takes in what others have sent, and draws.
  void advance();

  // Collective: returns when all units of all ranks are in.
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
