#include <algorithm>
#include <cstring>
#include <vector>

#include "base/guarded.hpp"
#include "mpi/fortran.hpp"
#include "mpi/requests/completion.hpp"

namespace stretto::mpi::fortran {
namespace {

void give_status(MPI_Fint* at, const MPI_Status& status) noexcept {
#ifdef OPEN_MPI
  static const Constant none("mpi_fortran_status_ignore_", "mpi_fortran_status_ignore", "mpi_fortran_status_ignore__",
                             "MPI_FORTRAN_STATUS_IGNORE");
  if (!none.is(at)) PMPI_Status_c2f(&status, at);
#else  // mpi_f08, with C's statuses
  static const Constant none("MPIR_F08_MPI_STATUS_IGNORE_OBJ", "mpir_f08_mpi_status_ignore_obj");
  if (!none.is(at)) std::memcpy(at, &status, sizeof status);
#endif
}

constexpr std::size_t kStatusLength = sizeof(MPI_Status) / sizeof(MPI_Fint);

void give_statuses(MPI_Fint* at, const std::vector<MPI_Status>& statuses, int places) noexcept {
#ifdef OPEN_MPI
  static const Constant none("mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore",
                             "mpi_fortran_statuses_ignore__", "MPI_FORTRAN_STATUSES_IGNORE");
#else
  static const Constant none("MPIR_F08_MPI_STATUSES_IGNORE_OBJ", "mpir_f08_mpi_statuses_ignore_obj");
#endif
  if (none.is(at)) return;
  for (int i = 0; i < places; ++i)
    give_status(at + static_cast<std::size_t>(i) * kStatusLength, statuses[static_cast<std::size_t>(i)]);
}

class Requests {
 public:
  Requests(MPI_Fint n, MPI_Fint* given) : given_(given), own_(static_cast<std::size_t>(std::max<MPI_Fint>(n, 0))) {
    for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = PMPI_Request_f2c(given[i]);
  }
  ~Requests() {
    for (std::size_t i = 0; i < own_.size(); ++i) given_[i] = PMPI_Request_c2f(own_[i]);
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  int n() const noexcept { return static_cast<int>(own_.size()); }
  MPI_Request* at() noexcept { return own_.data(); }

 private:
  MPI_Fint* const given_;
  std::vector<MPI_Request> own_;
};

template <class Function>
void complete(MPI_Fint n, MPI_Fint* given, MPI_Fint* ierror, const Function& f) noexcept {
  const int code = value_or<int>(MPI_ERR_NO_MEM, [&] {
    Requests all(n, given);
    return f(all);
  });
  deliver(code, ierror);
}

// Fortran's indices start at 1.
MPI_Fint position(int index) noexcept { return index == MPI_UNDEFINED ? index : index + 1; }

template <class Any>
void complete_any(MPI_Fint n, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror,
                  const Any& any) noexcept {
  complete(n, requests, ierror, [&](Requests& all) {
    MPI_Status s{};
    int at = MPI_UNDEFINED, done = 0;
    const int code = any(all, &at, &done, &s);
    if (code != MPI_SUCCESS) return code;
    if (flag) *flag = done != 0;
    if (index) *index = position(at);
    if (done) give_status(status, s);
    return code;
  });
}

template <class All>
void complete_all(MPI_Fint n, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses, MPI_Fint* ierror,
                  const All& function) noexcept {
  complete(n, requests, ierror, [&](Requests& all) {
    std::vector<MPI_Status> s(static_cast<std::size_t>(all.n()));
    int done = 0;
    const int code = function(all, &done, s.data());
    if (flag) *flag = done != 0;
    if (done || code != MPI_SUCCESS) give_statuses(statuses, s, all.n());
    return code;
  });
}

template <class Some>
void complete_some(MPI_Fint n, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices, MPI_Fint* statuses,
                   MPI_Fint* ierror, const Some& some) noexcept {
  complete(n, requests, ierror, [&](Requests& all) {
    std::vector<MPI_Status> s(static_cast<std::size_t>(all.n()));
    std::vector<int> at(s.size());
    int count = 0;
    const int code = some(all, &count, at.data(), s.data());
    *done = count;
    const int set = count == MPI_UNDEFINED ? 0 : count;
    for (int i = 0; i < set; ++i) indices[i] = position(at[static_cast<std::size_t>(i)]);
    give_statuses(statuses, s, set);
    return code;
  });
}

}  // namespace

void wait(const char* name, Wait& next, MPI_Fint* request, MPI_Fint* status, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, request, status), ierror);
  complete_any(1, request, nullptr, nullptr, status, ierror, [](Requests& r, int*, int* done, MPI_Status* s) {
    *done = 1;
    return mpi::wait(r.at(), s);
  });
}

void waitall(const char* name, Waitall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* statuses,
             MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, statuses), ierror);
  complete_all(*count, requests, nullptr, statuses, ierror, [](Requests& r, int* done, MPI_Status* s) {
    *done = 1;
    return mpi::waitall(r.n(), r.at(), s);
  });
}

void waitany(const char* name, Waitany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status,
             MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, index, status), ierror);
  complete_any(*count, requests, index, nullptr, status, ierror, [](Requests& r, int* at, int* done, MPI_Status* s) {
    *done = 1;
    return mpi::waitany(r.n(), r.at(), at, s);
  });
}

void waitsome(const char* name, Waitsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              MPI_Fint* statuses, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, done, indices, statuses), ierror);
  complete_some(*count, requests, done, indices, statuses, ierror,
                [](Requests& r, int* n, int* at, MPI_Status* s) { return mpi::waitsome(r.n(), r.at(), n, at, s); });
}

void test(const char* name, Test& next, MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status,
          MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, request, flag, status), ierror);
  complete_any(1, request, nullptr, flag, status, ierror,
               [](Requests& r, int*, int* done, MPI_Status* s) { return mpi::test(r.at(), done, s); });
}

void testall(const char* name, Testall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses,
             MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, flag, statuses), ierror);
  complete_all(*count, requests, flag, statuses, ierror,
               [](Requests& r, int* done, MPI_Status* s) { return mpi::testall(r.n(), r.at(), done, s); });
}

void testany(const char* name, Testany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
             MPI_Fint* status, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, index, flag, status), ierror);
  complete_any(*count, requests, index, flag, status, ierror,
               [](Requests& r, int* at, int* done, MPI_Status* s) { return mpi::testany(r.n(), r.at(), at, done, s); });
}

void testsome(const char* name, Testsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done, MPI_Fint* indices,
              MPI_Fint* statuses, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, done, indices, statuses), ierror);
  complete_some(*count, requests, done, indices, statuses, ierror,
                [](Requests& r, int* n, int* at, MPI_Status* s) { return mpi::testsome(r.n(), r.at(), n, at, s); });
}

void request_get_status(const char* name, Test& next, MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status,
                        MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, request, flag, status), ierror);
  complete_any(1, request, nullptr, flag, status, ierror,
               [](Requests& r, int*, int* done, MPI_Status* s) { return mpi::request_get_status(*r.at(), done, s); });
}

#ifdef STRETTO_ASKS_SEVERAL
void request_get_status_all(const char* name, Testall& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag,
                            MPI_Fint* statuses, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, flag, statuses), ierror);
  complete_all(*count, requests, flag, statuses, ierror, [](Requests& r, int* done, MPI_Status* s) {
    return mpi::request_get_status_all(r.n(), r.at(), done, s);
  });
}

void request_get_status_any(const char* name, Testany& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index,
                            MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, index, flag, status), ierror);
  complete_any(*count, requests, index, flag, status, ierror, [](Requests& r, int* at, int* done, MPI_Status* s) {
    return mpi::request_get_status_any(r.n(), r.at(), at, done, s);
  });
}

void request_get_status_some(const char* name, Testsome& next, MPI_Fint* count, MPI_Fint* requests, MPI_Fint* done,
                             MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierror) noexcept {
  if (!has_own_requests()) return deliver(go_on(name, next, count, requests, done, indices, statuses), ierror);
  complete_some(*count, requests, done, indices, statuses, ierror, [](Requests& r, int* n, int* at, MPI_Status* s) {
    return mpi::request_get_status_some(r.n(), r.at(), n, at, s);
  });
}
#endif

}  // namespace stretto::mpi::fortran
