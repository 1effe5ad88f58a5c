// The report that no rank can make: of a program that never initialises an MPI, or ends without MPI_Finalize.
#pragma once

namespace stretto::mpi {

// This process calls MPI_Init, or a function that tells why it is refused.
void mpi_was_seen() noexcept;

// Its report, if one is wanted, is made.
void report_was_made() noexcept;

}  // namespace stretto::mpi
