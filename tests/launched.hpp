// The main function of test programs on several launched ranks, and helpers for those with their own.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

// True if any rank failed, equal on all ranks.
inline int failed_anywhere(int failed) {
  int any = failed;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return any;
}

// Runs the tests. The exit status is equal on every rank: failure if a test failed on any. `level`: thread level of
// MPI.
inline int run_on_launched_ranks(int argc, char** argv, int level = MPI_THREAD_FUNNELED) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  testing::InitGoogleTest(&argc, argv);
  const int any = failed_anywhere(RUN_ALL_TESTS());
  MPI_Finalize();
  return any;
}
