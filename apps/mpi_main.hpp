// The main function of a program over MPI: reports an exception on one rank, and aborts the other ranks, which would
// wait for it.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>

#include <fmt/core.h>

namespace stretto {

// Calls run(argc, argv, rank) between MPI_Init_thread, at this level of MPI_THREAD_..., and MPI_Finalize. Returns its
// result, or 1 if MPI does not start.
template <class Run>
int mpi_main(int argc, char** argv, const char* program, const Run& run, int level = MPI_THREAD_SINGLE) {
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, level, &provided) != MPI_SUCCESS) return 1;
  int rank = 0, code = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    code = run(argc, argv, rank);
  } catch (const std::exception& e) {
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(host, &length);
    fmt::print(stderr, "{}: rank {} on {}: {}\n", program, rank, host, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}

}  // namespace stretto
