// Communicators that the library duplicates in advance or on use, with the MPI failing on a rank: the program goes on
// over its MPI, with unchanged error handlers. `duplicates_test multiple`: MPI_THREAD_MULTIPLE.
#include <dlfcn.h>

#include <cstring>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

int fails_at = -1;  // which of the next duplicates of this rank fails, after its ranks have met; negative: none
int exchanges = 0;  // this rank's allgathers so far
int cut_off = -1;   // the number of the one that takes place and reports a failure; negative: none

void sum(MPI_Comm comm, int ranks) {
  const std::vector<float> send(1000, 1);
  std::vector<float> recv(send.size());
  ASSERT_EQ(MPI_Allreduce(send.data(), recv.data(), 1000, MPI_FLOAT, MPI_SUM, comm), MPI_SUCCESS);
  EXPECT_EQ(recv, std::vector<float>(send.size(), static_cast<float>(ranks)));
}

void handle(MPI_Comm*, int* code, ...) { ADD_FAILURE() << "the error handler was called with code " << *code; }

int refuse(MPI_Comm, int, void*, void*, void*, int*) { return MPI_ERR_OTHER; }

// Enough calls that the library makes a communicator of its own.
void use(MPI_Comm comm, int ranks) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL, after = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(comm, own);
  for (int i = 0; i < 100; ++i) sum(comm, ranks);
  MPI_Comm_get_errhandler(comm, &after);
  EXPECT_EQ(own, after);
  MPI_Errhandler_free(&after);
  MPI_Errhandler_free(&own);
}

}  // namespace

// In the place of the MPI's, for the library.
extern "C" int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Comm_dup)>(dlsym(RTLD_NEXT, "PMPI_Comm_dup"));
  const int code = own(comm, made);
  if (fails_at < 0 || --fails_at >= 0 || code != MPI_SUCCESS) return code;
  MPI_Comm_free(made);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

TEST(Duplicates, AFailureOnOneRankLeavesTheCommunicatorToTheMpi) {
  const Comm& w = communicators().front();
  for (int which = 0; which < 2; ++which) {
    fails_at = w.rank == w.size - 1 ? which : -1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(w.comm, 0, -w.rank, &comm);
    use(comm, w.size);
    EXPECT_LT(fails_at, 0);
    fails_at = -1;
    MPI_Comm_free(&comm);
  }
}

extern "C" int PMPI_Allgather(const void* in, int n, MPI_Datatype type, void* out, int each, MPI_Datatype of,
                              MPI_Comm comm) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Allgather)>(dlsym(RTLD_NEXT, "PMPI_Allgather"));
  const int code = own(in, n, type, out, each, of, comm);
  return exchanges++ == cut_off ? MPI_ERR_OTHER : code;
}

// The last but one tells the ranks that they all can share memory.
TEST(Duplicates, AnExchangeCutOffOnOneRankLeavesItToTheMpi) {
  const Comm& w = communicators().front();
  for (int time = 0; time < 3; ++time) {
    cut_off = time == 2 && w.rank == w.size - 1 ? exchanges - 2 : -1;
    exchanges = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(w.comm, 0, -w.rank, &comm);
    use(comm, w.size);
    EXPECT_GE(exchanges, 2);
    MPI_Comm_free(&comm);
  }
  cut_off = -1;
}

TEST(Duplicates, ARefusedCopyOfAnAttributeDoesNotEndTheProgram) {
  const Comm& w = communicators().front();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(w.comm, 0, w.rank, &comm);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(comm, key, nullptr);
  use(comm, w.size);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
  return run_on_launched_ranks(argc, argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
}
