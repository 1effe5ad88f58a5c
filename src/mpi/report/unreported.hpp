// The report of programs without MPI_Init or MPI_Finalize.
#pragma once

namespace stretto::mpi {

// This process calls MPI_Init, or a function that reports its refusal.
void mpi_was_seen() noexcept;

void report_was_made() noexcept;

}  // namespace stretto::mpi
