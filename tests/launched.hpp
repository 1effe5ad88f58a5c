// The main function of test programs that a launcher starts on several ranks, and what those with one of their own share.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

// Whether something failed on any rank, the same on all.
inline int failed_anywhere(int failed) {
  int any = failed;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return any;
}

// The exit status, the same on every rank: whether a test failed on any. `level`: what threads of the program may do.
inline int run_on_launched_ranks(int argc, char** argv, int level = MPI_THREAD_FUNNELED) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
