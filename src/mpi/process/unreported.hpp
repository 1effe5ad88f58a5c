// A notice in place of the report, for programs that never initialise an MPI, or end without MPI_Finalize.
#pragma once

namespace stretto::mpi {

// This process calls MPI_Init, or a function that reports why it is refused.
void mpi_was_seen() noexcept;

// A requested report has been made.
void report_was_made() noexcept;

}  // namespace stretto::mpi
