// Calls left to the MPI run as before, and the library's state comes and goes with the program's communicators.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "../../launched.hpp"
#include "suite.hpp"

using namespace mpi_test;

// Without it every other test would compare the MPI with itself.
TEST(Library, IsPreloaded) {
  Dl_info place{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "MPI_Allreduce"), &place), 0);
  EXPECT_NE(std::string(place.dli_fname).find("libstretto_mpi"), std::string::npos) << place.dli_fname;
}

TEST(PassedOn, NonblockingCallsGiveRequestsOfTheMpi) {
  for (const Comm& c : communicators()) {
    const auto x = values<double>(c.rank, 1000);
    std::vector<double> sum(1000), expected(1000);
    std::vector<int> all(size(c.size));
    MPI_Request requests[2];
    MPI_Iallreduce(x.data(), sum.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm, &requests[0]);
    MPI_Iallgather(&c.rank, 1, MPI_INT, all.data(), 1, MPI_INT, c.comm, &requests[1]);
    MPI_Allreduce(x.data(), expected.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm);  // in between
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(sum, expected);
    for (int r = 0; r < c.size; ++r) EXPECT_EQ(all[size(r)], r);
  }
}

TEST(PassedOn, CountsOfTheRootAlone) {
  for (const Comm& c : communicators()) {
    std::vector<int> counts(size(c.size)), displs(size(c.size));
    std::iota(counts.begin(), counts.end(), 1);
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
    std::vector<int> all(size(displs.back() + counts.back()), -1), own(size(c.rank + 1), c.rank);
    MPI_Gatherv(own.data(), c.rank + 1, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, 0, c.comm);
    for (int r = 0; r < c.size && c.rank == 0; ++r) EXPECT_EQ(all[size(displs[size(r)])], r);
    std::fill(own.begin(), own.end(), -1);
    MPI_Scatterv(all.data(), counts.data(), displs.data(), MPI_INT, own.data(), c.rank + 1, MPI_INT, 0, c.comm);
    EXPECT_EQ(own, std::vector<int>(size(c.rank + 1), c.rank));
  }
}

TEST(PassedOn, Intercommunicators) {
  const Comm& world = communicators().front();
  if (world.size < 2) GTEST_SKIP() << "an intercommunicator takes two ranks";
  const Comm& half = communicators()[3];
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(half.comm, 0, world.comm, world.rank % 2 == 0 ? 1 : 0, 17, &inter);
  int remote = 0, sum = 0;
  MPI_Comm_remote_size(inter, &remote);
  const int one = 1;
  for (int again = 0; again < 6; ++again) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    EXPECT_EQ(sum, remote);
    MPI_Barrier(inter);
  }
  MPI_Comm_free(&inter);
}

TEST(PassedOn, NeighboursOnAGrid) {
  const Comm& world = communicators().front();
  int dims[] = {0}, periodic[] = {1};
  MPI_Dims_create(world.size, 1, dims);
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(world.comm, 1, dims, periodic, 0, &ring);
  int got[2] = {-1, -1};
  MPI_Neighbor_allgather(&world.rank, 1, MPI_INT, got, 1, MPI_INT, ring);
  EXPECT_EQ(got[0], (world.rank + world.size - 1) % world.size);
  EXPECT_EQ(got[1], (world.rank + 1) % world.size);
  MPI_Comm_free(&ring);
}

TEST(PassedOn, WrongArgumentsAreErrorsOfTheMpi) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int x = 0, y = 0, size_of = 0;
  MPI_Comm_size(comm, &size_of);
  EXPECT_NE(MPI_Bcast(&x, 1, MPI_INT, size_of, comm), MPI_SUCCESS);
  EXPECT_NE(MPI_Bcast(&x, -1, MPI_INT, 0, comm), MPI_SUCCESS);
  EXPECT_NE(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, comm), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

TEST(PassedOn, MemoryOfTheMpiIsUsedAndGivenBack) {
  for (const Comm& c : communicators())
    for (const int n : {1, 100, 100000}) {
      double *x = nullptr, *y = nullptr;
      ASSERT_EQ(MPI_Alloc_mem(n * MPI_Aint{sizeof(double)}, MPI_INFO_NULL, &x), MPI_SUCCESS);
      ASSERT_EQ(MPI_Alloc_mem(n * MPI_Aint{sizeof(double)}, MPI_INFO_NULL, &y), MPI_SUCCESS);
      std::fill(x, x + n, 1.0);
      for (int call = 0; call < 5; ++call) MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, c.comm);
      EXPECT_EQ(std::vector<double>(y, y + n), std::vector<double>(size(n), c.size));
      EXPECT_EQ(MPI_Free_mem(x), MPI_SUCCESS);
      EXPECT_EQ(MPI_Free_mem(y), MPI_SUCCESS);
    }
}

#ifndef MPI_ABI  // which knows no Fortran
namespace {

// True if `at` lies in memory that peers can see.
bool in_arena(const void* at) {
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &from, &to) == 2 && from <= address && address < to)
      return line.find("stretto-arena") != std::string::npos;
  }
  return false;
}

}  // namespace

// By the names of Fortran's procedures that the library has, where an MPI's own go past C's; called as compilers do.
TEST(PassedOn, MemoryOfFortransProceduresIsThatOfC) {
  using Alloc = void (*)(MPI_Aint*, MPI_Fint*, void*, MPI_Fint*);
  using Free = void (*)(void*, MPI_Fint*);
  void* of_c = nullptr;
  MPI_Aint bytes = 1 << 20;
  ASSERT_EQ(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &of_c), MPI_SUCCESS);
  const bool peers_see_it = in_arena(of_c);
  MPI_Free_mem(of_c);
  int found = 0;
  for (const char* name : {"mpi_alloc_mem_", "mpi_alloc_mem", "mpi_alloc_mem__", "MPI_ALLOC_MEM", "mpi_alloc_mem_cptr_",
                           "mpi_alloc_mem_f08_"}) {
    const auto alloc = reinterpret_cast<Alloc>(dlsym(RTLD_DEFAULT, name));
    Dl_info place{};
    if (!alloc || !dladdr(reinterpret_cast<void*>(alloc), &place)) continue;
    if (std::string(place.dli_fname).find("libstretto_mpi") == std::string::npos) continue;
    ++found;
    MPI_Fint none = MPI_Info_c2f(MPI_INFO_NULL), error = -1;
    void* at = nullptr;
    alloc(&bytes, &none, &at, &error);
    ASSERT_EQ(error, MPI_SUCCESS) << name;
    EXPECT_EQ(in_arena(at), peers_see_it) << name;
    error = -1;
    if (const auto free = reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "mpi_free_mem_")))
      free(at, &error);
    else
      error = MPI_Free_mem(at);  // as MPICH's does
    EXPECT_EQ(error, MPI_SUCCESS) << name;
  }
#ifdef OPEN_MPI
  EXPECT_EQ(found, 6);
#else
  EXPECT_EQ(found, 1);  // the others call C's
#endif
}
#endif

TEST(PassedOn, CommunicatorsComeAndGo) {
  const Comm& world = communicators().front();
  for (int round = 0; round < 40; ++round) {
    MPI_Comm half = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_split(world.comm, (world.rank + round) % 2, world.rank, &half);
    const int one = 1;
    int members = 0, sum = 0;
    MPI_Comm_size(half, &members);
    for (int call = 0; call < 5; ++call) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
      ASSERT_EQ(sum, members);
    }
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&half);
    for (int call = 0; call < 5; ++call) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
      ASSERT_EQ(sum, members);
    }
    MPI_Comm_free(&copy);
  }
}

namespace {

// With rules that force a path (STRETTO_RULES) and a report in a file (STRETTO_REPORT): the collectives without a call
// on that path, for which the tests compared the MPI with itself.
std::string not_served() {
  const char *rules = std::getenv("STRETTO_RULES"), *report = std::getenv("STRETTO_REPORT");
  if (!rules || !report) return "";
  std::ifstream rows(report), lines(rules);
  if (!rows || !lines) return std::string("no ") + (rows ? rules : report);
  const nlohmann::json calls = nlohmann::json::parse(rows).at("calls");
  std::string missing;
  const auto expect = [&](const std::string& operation, const std::string& path) {
    const bool ran = std::any_of(calls.begin(), calls.end(), [&](const nlohmann::json& row) {
      return row.at("operation") == operation && row.at("path") == path && row.at("calls") > 0;
    });
    if (!ran) missing += " " + operation + " by " + path;
  };
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("schedule:");
    if (line.empty() || line[0] == '#' || at == std::string::npos) continue;
    std::istringstream words(line.substr(0, at));
    std::string operation, path = line.substr(at + 9);
    words >> operation;
    if (operation != "*") {
      expect(operation, path);
      continue;
    }
    for (const char* each : {"allreduce", "reduce", "reduce_scatter_block", "allgather", "bcast", "gather", "scatter",
                             "alltoall", "barrier"})
      expect(each, path);
  }
  return missing;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  const char* report = std::getenv("STRETTO_REPORT");
  if (report && communicators().front().rank == 0) std::remove(report);  // an earlier run's
  const int any = failed_anywhere(RUN_ALL_TESTS());
  const bool tells = communicators().front().rank == 0 && communicators().front().size > 1;
  MPI_Finalize();
  const std::string missing = tells ? not_served() : "";
  if (!missing.empty()) std::fprintf(stderr, "not served as the rules say:%s\n", missing.c_str());
  return any || !missing.empty();
}
