// A program that knows nothing of stretto, on whose rank $WITHOUT all C++ in the library runs out of memory at the $FROM'th request of MPI_Init, or
// with AT_END=1 of MPI_Finalize, and stays so until that returns. Messages of the MPI's own are C's and come and go.
#include <dlfcn.h>
#include <mpi.h>

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
             at_end = number("AT_END") != 0;
  left = number("FROM");
  fails = here && !at_end;
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
  fails = here && at_end;
  MPI_Finalize();
  fails = false;
  return 0;
}
