#include "modules/mpi/alarm.hpp"

#include <chrono>

#include "base/waiting.hpp"
#include "modules/mpi/quiet.hpp"

namespace stretto::modules {

using namespace carrier;

namespace {

using Clock = std::chrono::steady_clock;

// raise() lets the MPI progress so long: the rank may not return, and may need a connection first.
constexpr std::chrono::milliseconds kMostPatience{200};

}  // namespace

MpiAlarms::MpiAlarms(MPI_Comm comm, int size, int tag)
    : comm_(comm),
      tag_(tag),
      alarms_(std::make_unique<std::array<Alarm, kMostAlarms>>()),
      requests_(kMostAlarms * static_cast<std::size_t>(size), MPI_REQUEST_NULL) {}

MpiAlarms::~MpiAlarms() {
  int over = 0;
  MPI_Finalized(&over);
  if (raised_ == 0 || over != 0 || sent()) return;
  for (MPI_Request& r : requests_) {
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }
  static_cast<void>(alarms_.release());  // leaked: the MPI may read it
}

bool MpiAlarms::sent() noexcept {
  const QuietErrors quiet;
  int all = 0;
  const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
  return code == MPI_SUCCESS && all != 0;
}

void MpiAlarms::raise(const Alarm& alarm) noexcept {
  if (raised_ == kMostAlarms) return;
  const std::size_t ranks = requests_.size() / kMostAlarms;
  Alarm& own = (*alarms_)[raised_];
  own = alarm;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    if (static_cast<int>(peer) == alarm.rank) continue;
    MPI_Request& request = requests_[raised_ * ranks + peer];
    const int code =
        MPI_Isend(&own, static_cast<int>(sizeof(Alarm)), MPI_BYTE, static_cast<int>(peer), tag_, comm_, &request);
    if (code != MPI_SUCCESS) request = MPI_REQUEST_NULL;  // the peer's own timeout remains
  }
  ++raised_;
  Waiting waiting(true);
  for (const auto begin = Clock::now(); !sent() && Clock::now() - begin < kMostPatience;) waiting.rest();
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

}  // namespace stretto::modules
