// The forms for large counts, and persistent ones, where the MPI has them.
#include "suite.hpp"

#if MPI_VERSION >= 4
using namespace mpi_test;

TEST(Large, CountsOf64BitsAreServedAsOthers) {
  for (const Comm& c : communicators()) {
    const auto x = values<double>(c.rank, 1000 * size(c.size));
    std::vector<double> ours(x.size()), theirs(x.size());
    MPI_Allreduce_c(x.data(), ours.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm);
    PMPI_Allreduce(x.data(), theirs.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Allgather_c(x.data(), 1000, MPI_DOUBLE, ours.data(), 1000, MPI_DOUBLE, c.comm);
    PMPI_Allgather(x.data(), 1000, MPI_DOUBLE, theirs.data(), 1000, MPI_DOUBLE, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Alltoall_c(x.data(), 1000, MPI_DOUBLE, ours.data(), 1000, MPI_DOUBLE, c.comm);
    PMPI_Alltoall(x.data(), 1000, MPI_DOUBLE, theirs.data(), 1000, MPI_DOUBLE, c.comm);
    EXPECT_EQ(ours, theirs);
    ours = theirs = x;
    MPI_Bcast_c(ours.data(), 1000, MPI_DOUBLE, c.size - 1, c.comm);
    PMPI_Bcast(theirs.data(), 1000, MPI_DOUBLE, c.size - 1, c.comm);
    EXPECT_EQ(ours, theirs);
    const std::vector<MPI_Count> counts(size(c.size), 900);
    std::vector<MPI_Aint> displs;
    for (int r = 0; r < c.size; ++r) displs.push_back(1000 * (c.size - 1 - r));
    MPI_Allgatherv_c(x.data(), 900, MPI_DOUBLE, ours.data(), counts.data(), displs.data(), MPI_DOUBLE, c.comm);
    PMPI_Allgatherv_c(x.data(), 900, MPI_DOUBLE, theirs.data(), counts.data(), displs.data(), MPI_DOUBLE, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Reduce_scatter_c(x.data(), ours.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm);
    PMPI_Reduce_scatter_c(x.data(), theirs.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm);
    EXPECT_EQ(ours, theirs);
  }
}

TEST(Persistent, CallsAreRequestsOfTheMpi) {
  for (const Comm& c : communicators()) {
    const int one = 1;
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, c.comm, MPI_INFO_NULL, &request);
    for (int again = 0; again < 3; ++again) {
      sum = 0;
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(sum, c.size);
    }
    MPI_Request_free(&request);
  }
}
#endif
