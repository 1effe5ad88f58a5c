#include "carrier/mpi_alarm.hpp"

#include <sched.h>

#include <chrono>

#include "carrier/mpi_quiet.hpp"

namespace stretto::carrier {
namespace {

using Clock = std::chrono::steady_clock;

// So long the rank that raises an alarm lets the MPI progress: it may never come back to it, and a connection may have to be made first.
constexpr std::chrono::milliseconds most_patience{200};

}  // namespace

MpiAlarms::MpiAlarms(MPI_Comm comm, int size, int tag)
    : comm_(comm),
      tag_(tag),
      alarm_(std::make_unique<Alarm>()),
      requests_(static_cast<std::size_t>(size), MPI_REQUEST_NULL) {}

MpiAlarms::~MpiAlarms() {
  int over = 0;
  MPI_Finalized(&over);
  if (!raised_ || over != 0 || sent()) return;
  for (MPI_Request& r : requests_) {
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }
  static_cast<void>(alarm_.release());  // kept on purpose: the MPI may still read it
}

bool MpiAlarms::sent() noexcept {
  const Quiet quiet;
  int all = 0;
  const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
  return code == MPI_SUCCESS && all != 0;
}

void MpiAlarms::raise(const Alarm& alarm) noexcept {
  if (raised_) return;
  raised_ = true;
  *alarm_ = alarm;
  for (std::size_t peer = 0; peer < requests_.size(); ++peer) {
    if (static_cast<int>(peer) == alarm.rank) continue;
    const int code = MPI_Isend(alarm_.get(), static_cast<int>(sizeof(Alarm)), MPI_BYTE, static_cast<int>(peer), tag_,
                               comm_, &requests_[peer]);
    if (code != MPI_SUCCESS) requests_[peer] = MPI_REQUEST_NULL;  // it will find out by its timeout
  }
  for (const auto begin = Clock::now(); !sent() && Clock::now() - begin < most_patience;) sched_yield();
}

bool MpiAlarms::hear(Alarm* alarm) noexcept {
  int there = 0, bytes = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &there, &status) != MPI_SUCCESS || there == 0) return false;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (bytes != static_cast<int>(sizeof(Alarm))) return false;
  if (MPI_Recv(alarm, bytes, MPI_BYTE, status.MPI_SOURCE, tag_, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  heard_ = true;
  alarm->rank = status.MPI_SOURCE;
  alarm->text.back() = 0;
  return true;
}

}  // namespace stretto::carrier
