#include "mpi/requests/completion.hpp"

#include <atomic>
#include <vector>

#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/started.hpp"
#include "mpi/requests/wait_clock.hpp"

namespace stretto::mpi {
namespace {

// Persistent requests of ours are passed as their runs, MPI_REQUEST_NULL if inactive. Their handles stay.
class PassedRequests {
 public:
  PassedRequests(int n, MPI_Request* given) : given_(given), at_(given) {
    if (n <= 0 || !given || persistent_of_ours() == 0) return;
    own_ = passed_of({given, static_cast<std::size_t>(n)});
    if (own_.empty()) return;
    before_ = own_;
    at_ = own_.data();
  }
  ~PassedRequests() {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i] == before_[i]) continue;
      if (before_[i] == given_[i])
        given_[i] = own_[i];
      else
        run_ended(given_[i]);
    }
  }
  PassedRequests(const PassedRequests&) = delete;
  PassedRequests& operator=(const PassedRequests&) = delete;

  MPI_Request* at() const noexcept { return at_; }

 private:
  MPI_Request* const given_;
  MPI_Request* at_;
  std::vector<MPI_Request> before_, own_;
};

template <class Function>
int with_passed(int n, MPI_Request* requests, const Function& f) noexcept {
  return value_or<int>(MPI_ERR_NO_MEM, [&] {
    const PassedRequests all(n, requests);
    return f(all.at());
  });
}

template <class Test>
int once(int n, MPI_Request* requests, const Test& test) noexcept {
  const CountedWait counted;
  drive();
  return with_passed(n, requests, test);
}

// `test` returns an MPI code and sets *done to stop.
template <class Test>
int until_done(const Test& test) noexcept {
  constexpr int looks = 64;
  const CountedWait counted;
  stretto::Waiting pauses(true);
  for (int idle = 0;; ++idle) {
    drive();
    bool done = false;
    if (const int code = test(&done); code != MPI_SUCCESS || done) return code;
    if (idle > looks) pauses.rest();
  }
}

}  // namespace

bool has_own_requests() noexcept { return in_flight.load(std::memory_order_acquire) > 0 || persistent_of_ours() > 0; }

int test(MPI_Request* request, int* flag, MPI_Status* status) noexcept {
  return once(1, request, [&](MPI_Request* r) { return PMPI_Test(r, flag, status); });
}

int testall(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) noexcept {
  return once(n, requests, [&](MPI_Request* r) { return PMPI_Testall(n, r, flag, statuses); });
}

int testany(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status) noexcept {
  return once(n, requests, [&](MPI_Request* r) { return PMPI_Testany(n, r, index, flag, status); });
}

int testsome(int n, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) noexcept {
  return once(n, requests, [&](MPI_Request* r) { return PMPI_Testsome(n, r, done, indices, statuses); });
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept {
  return once(1, &request, [&](MPI_Request* r) { return PMPI_Request_get_status(*r, flag, status); });
}

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
int request_is_complete(MPI_Request request) noexcept {
  int complete = 0;
  once(1, &request, [&](const MPI_Request* r) {
    complete = PMPIX_Request_is_complete(*r);
    return MPI_SUCCESS;
  });
  return complete;
}
#endif

#ifdef STRETTO_ASKS_SEVERAL
namespace {

MPI_Request* unchanged(const MPI_Request* requests) noexcept { return const_cast<MPI_Request*>(requests); }

}  // namespace

int request_get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses) noexcept {
  return once(n, unchanged(requests),
              [&](MPI_Request* r) { return PMPI_Request_get_status_all(n, r, flag, statuses); });
}

int request_get_status_any(int n, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) noexcept {
  return once(n, unchanged(requests),
              [&](MPI_Request* r) { return PMPI_Request_get_status_any(n, r, index, flag, status); });
}

int request_get_status_some(int n, const MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) noexcept {
  return once(n, unchanged(requests),
              [&](MPI_Request* r) { return PMPI_Request_get_status_some(n, r, done, indices, statuses); });
}
#endif

int wait(MPI_Request* request, MPI_Status* status) noexcept {
  return with_passed(1, request, [&](MPI_Request* r) {
    return until_done([&](bool* done) {
      int flag = 0;
      const int code = PMPI_Test(r, &flag, status);
      *done = flag != 0;
      return code;
    });
  });
}

// One by one: MPICH's MPI_Testall fails when an own persistent collective completes. MPI_Waitall reports failures at
// the end.
int waitall(int n, MPI_Request* requests, MPI_Status* statuses) noexcept {
  return with_passed(n, requests, [&](MPI_Request* r) {
    int at = r ? 0 : n;
    until_done([&](bool* done) {
      int flag = 1;
      while (at < n && flag) {
        if (PMPI_Request_get_status(r[at], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) flag = 1;
        if (flag) ++at;
      }
      *done = at >= n;
      return MPI_SUCCESS;
    });
    return PMPI_Waitall(n, r, statuses);
  });
}

int waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) noexcept {
  return with_passed(n, requests, [&](MPI_Request* r) {
    return until_done([&](bool* done) {
      int flag = 0;
      const int code = PMPI_Testany(n, r, index, &flag, status);
      *done = flag != 0;
      return code;
    });
  });
}

int waitsome(int n, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) noexcept {
  return with_passed(n, requests, [&](MPI_Request* r) {
    return until_done([&](bool* done) {
      const int code = PMPI_Testsome(n, r, completed, indices, statuses);
      *done = *completed != 0;  // MPI_UNDEFINED: no request is active
      return code;
    });
  });
}

void before_freed(MPI_Request request) noexcept {
  if (is_persistent_of_ours(request)) {
    static_cast<void>(wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  until_done([&](bool* done) {
    *done = !is_started(request);
    return MPI_SUCCESS;
  });
}

}  // namespace stretto::mpi

using namespace stretto;

STRETTO_WRAPPER int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::wait(request, status) : PMPI_Wait(request, status);
}

STRETTO_WRAPPER int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::waitall(n, requests, statuses) : PMPI_Waitall(n, requests, statuses);
}

STRETTO_WRAPPER int MPI_Waitany(int n, MPI_Request requests[], int* index, MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::waitany(n, requests, index, status) : PMPI_Waitany(n, requests, index, status);
}

STRETTO_WRAPPER int MPI_Waitsome(int n, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::waitsome(n, requests, done, indices, statuses)
                                 : PMPI_Waitsome(n, requests, done, indices, statuses);
}

STRETTO_WRAPPER int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::test(request, flag, status) : PMPI_Test(request, flag, status);
}

STRETTO_WRAPPER int MPI_Testall(int n, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::testall(n, requests, flag, statuses)
                                 : PMPI_Testall(n, requests, flag, statuses);
}

STRETTO_WRAPPER int MPI_Testany(int n, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::testany(n, requests, index, flag, status)
                                 : PMPI_Testany(n, requests, index, flag, status);
}

STRETTO_WRAPPER int MPI_Testsome(int n, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::testsome(n, requests, done, indices, statuses)
                                 : PMPI_Testsome(n, requests, done, indices, statuses);
}

STRETTO_WRAPPER int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::request_get_status(request, flag, status)
                                 : PMPI_Request_get_status(request, flag, status);
}

#ifdef STRETTO_ASKS_SEVERAL
STRETTO_WRAPPER int MPI_Request_get_status_all(int n, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::request_get_status_all(n, requests, flag, statuses)
                                 : PMPI_Request_get_status_all(n, requests, flag, statuses);
}

STRETTO_WRAPPER int MPI_Request_get_status_any(int n, const MPI_Request requests[], int* index, int* flag,
                                               MPI_Status* status) {
  return mpi::has_own_requests() ? mpi::request_get_status_any(n, requests, index, flag, status)
                                 : PMPI_Request_get_status_any(n, requests, index, flag, status);
}

STRETTO_WRAPPER int MPI_Request_get_status_some(int n, const MPI_Request requests[], int* done, int indices[],
                                                MPI_Status statuses[]) {
  return mpi::has_own_requests() ? mpi::request_get_status_some(n, requests, done, indices, statuses)
                                 : PMPI_Request_get_status_some(n, requests, done, indices, statuses);
}
#endif

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
// An extension of MPICH, whose version 4.0 lacks its profiling name.
STRETTO_WRAPPER int MPIX_Request_is_complete(MPI_Request request) {
  return mpi::has_own_requests() ? mpi::request_is_complete(request) : PMPIX_Request_is_complete(request);
}
#endif

STRETTO_WRAPPER int MPI_Request_free(MPI_Request* request) {
  if (request) {
    if (mpi::has_own_requests()) mpi::before_freed(*request);
    mpi::released(*request);
  }
  return PMPI_Request_free(request);
}
