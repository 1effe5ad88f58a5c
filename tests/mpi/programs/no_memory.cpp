// A program unaware of stretto. On rank $WITHOUT, all C++ allocations in the library fail from the $FROM'th on: of
// MPI_Init, with AT_END=1 of MPI_Finalize, or of a collective that it starts, until that returns. STARTS=1: a
// nonblocking collective; STARTS=2: a persistent one, prepared before. The MPI's own messages allocate in C and
// succeed.
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

bool fails = false;
long left = 0;

bool from_the_library(void* caller) {
  Dl_info place{};
  return dladdr(caller, &place) != 0 && place.dli_fname && std::strstr(place.dli_fname, "libstretto_mpi") != nullptr;
}

void* take(std::size_t bytes, void* caller) {
  if (fails && from_the_library(caller) && --left < 0) return nullptr;
  return std::malloc(bytes > 0 ? bytes : 1);
}

long number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : 0;
}

// The rank runs out of memory in the first of three collectives in flight: other ranks must not match it with a later
// one. True if none did.
bool start_collectives(bool here, int ranks, bool persistent) {
  constexpr int n = 10'000, calls = 3;
  static double in[calls][n], sum[calls][n];
  MPI_Request request[calls];
  int code[calls];
  // MPICH tells what becomes of such requests to MPI_COMM_SELF, as MPI 4 has it.
  for (const MPI_Comm one : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
  for (int call = 0; call < calls; ++call) {
    std::fill_n(in[call], n, 1 << (8 * call));
    request[call] = MPI_REQUEST_NULL;
    if (persistent)
      MPI_Allreduce_init(in[call], sum[call], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request[call]);
    fails = here && call == 0;
    code[call] = persistent
                     ? MPI_Start(&request[call])
                     : MPI_Iallreduce(in[call], sum[call], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[call]);
    fails = false;
  }
  bool good = true;
  for (int call = 0; call < calls; ++call) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
    while (code[call] == MPI_SUCCESS && !MPIX_Request_is_complete(request[call])) sched_yield();
#endif
    if (code[call] == MPI_SUCCESS) code[call] = MPI_Wait(&request[call], MPI_STATUS_IGNORE);
    std::printf("call %d %s\n", call, code[call] == MPI_SUCCESS ? "done" : "failed");
    good = good && (code[call] != MPI_SUCCESS || sum[call][n - 1] == in[call][0] * ranks);
  }
  return good;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* p = take(bytes, __builtin_return_address(0));
  return p ? p : throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes, __builtin_return_address(0));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

int main(int argc, char** argv) {
  const char* rank_of_launcher = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank_of_launcher) rank_of_launcher = std::getenv("PMI_RANK");
  const bool here = rank_of_launcher && std::atol(rank_of_launcher) == number("WITHOUT"),
             at_end = number("AT_END") != 0, starts = number("STARTS") != 0;
  left = number("FROM");
  fails = here && !at_end && !starts;
  MPI_Init(&argc, &argv);
  fails = false;
  int ranks = 0, sum = 0;
  const int one = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int call = 0; call < 6; ++call) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::printf("sum %d\n", sum);
  if (starts && !start_collectives(here, ranks, number("STARTS") == 2)) MPI_Abort(MPI_COMM_WORLD, 2);
  fails = here && at_end;
  MPI_Finalize();
  fails = false;
  return 0;
}
