// A stand-in for an MPI that takes device pointers. It gives the process's MPI the host's addresses of emulated memory,
// and claims support for device memory if STRETTO_STAND_IN is set.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "../devices.hpp"

namespace {

using namespace stretto;

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

std::mutex mutex;
std::multimap<MPI_Request, std::size_t> loans;  // a request may stand for several completed messages

bool is_device(const void* p) {
  device::Location at{};
  return p && std::getenv("STRETTO_STAND_IN") && tests::plugin().locate(p, &at) == 0 &&
         at.kind == device::MemoryKind::device;
}

// Calls `post` with the address for the host.
template <class Post>
int lend(const void* p, int bytes, bool writes, MPI_Request* request, Post post) {
  void* real = const_cast<void*>(p);
  if (!is_device(p)) return post(real);
  const std::size_t loan = tests::emulation().lend(real, static_cast<std::size_t>(bytes), writes, &real);
  const int code = post(real);
  const std::lock_guard lock(mutex);
  loans.emplace(*request, loan);
  return code;
}

}  // namespace

extern "C" {

int MPIX_Query_cuda_support() { return std::getenv("STRETTO_STAND_IN") ? 1 : 0; }

int PMPI_Isend(const void* p, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  static const auto real = next<decltype(&PMPI_Isend)>("PMPI_Isend");
  return lend(p, n, false, request, [&](void* at) { return real(at, n, type, to, tag, comm, request); });
}

int PMPI_Irecv(void* p, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  static const auto real = next<decltype(&PMPI_Irecv)>("PMPI_Irecv");
  return lend(p, n, true, request, [&](void* at) { return real(at, n, type, from, tag, comm, request); });
}

int PMPI_Testsome(int n, MPI_Request requests[], int* ended, int indices[], MPI_Status statuses[]) {
  static const auto real = next<decltype(&PMPI_Testsome)>("PMPI_Testsome");
  const std::vector<MPI_Request> before(requests, requests + n);
  const int code = real(n, requests, ended, indices, statuses);
  const std::lock_guard lock(mutex);
  for (int i = 0; i < *ended && *ended != MPI_UNDEFINED; ++i) {
    const auto at = loans.find(before[static_cast<std::size_t>(indices[i])]);
    if (at == loans.end()) continue;
    tests::emulation().give_back(at->second);
    loans.erase(at);
  }
  return code;
}

}  // extern "C"
