#include "modules/mpi/carrier.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "carrier/limited_wait.hpp"
#include "modules/mpi/alarm.hpp"
#include "modules/mpi/quiet.hpp"
#include "modules/mpi/settings/variables.hpp"

namespace stretto::modules {

using namespace carrier;

Status translate(int code) noexcept {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) return fail(Status::incompatible, "a message is longer than its receive");
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fail(Status::mpi_error, "MPI error {}", code);
  return fail(Status::mpi_error, std::string_view(text, static_cast<std::size_t>(length)));
}

bool has_arrivals(MPI_Comm comm) noexcept {
  constexpr int looks = 100;
  int found = 0, code = MPI_SUCCESS;
  for (int look = 0; look < looks && code == MPI_SUCCESS && found == 0; ++look)
    code = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS || found != 0;
}

namespace {

std::size_t length_of(const MPI_Status& status) noexcept {
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  return static_cast<std::size_t>(std::max(length, 0));
}

struct Transfer {
  std::uint64_t id = 0;
  bool sends = false;
  int peer = 0;
  int tag = 0;
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t moved = 0;
};

class MpiCarrier final : public Carrier {
 public:
  MpiCarrier(MPI_Comm comm, bool* freeable, int rank, int size, std::uint64_t tags, std::size_t chunk)
      : comm_(comm),
        freeable_(freeable),
        rank_(rank),
        size_(size),
        tags_(tags),
        chunk_(chunk),
        alarms_(std::in_place, comm, size, static_cast<int>(tags - 1)) {}

  ~MpiCarrier() override {
    int over = 0;
    MPI_Finalized(&over);
    if (over) return;
    const bool settled =
        alarms_->quiet() && lost_.empty() && requests_.empty() && (nothing_sent_ || !has_arrivals(comm_));
    alarms_.reset();
    for (MPI_Request& r : lost_) MPI_Request_free(&r);
    for (MPI_Request& r : requests_) MPI_Request_free(&r);
    // MPICH 5 ends a program that frees the communicator of messages without a receive.
    if (freeable_ != nullptr)
      *freeable_ = settled;
    else if (settled)
      MPI_Comm_free(&comm_);
  }

  const char* name() const noexcept override { return "mpi"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::uint64_t tags() const noexcept override { return tags_; }

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    auto* bytes_of = static_cast<std::byte*>(const_cast<void*>(data));
    return start({id, true, peer, static_cast<int>(tag % tags_), bytes_of, bytes, 0});
  }

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return start({id, false, peer, static_cast<int>(tag % tags_), static_cast<std::byte*>(data), capacity, 0});
  }

  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    *n = 0;
    Status status = look(done, n);
    if (*n > 0) waiting_.reset();
    if (status != Status::ok || *n > 0 || seconds <= 0) return status;
    if (mpi_yields()) waiting_.check_yields();
    for (LimitedWait wait(seconds, waiting_); !requests_.empty() && *n == 0 && status == Status::ok && wait.next();)
      status = look(done, n);
    if (*n > 0) waiting_.reset();
    return status;
  }

  bool cancel(std::uint64_t id) noexcept override {
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (transfers_[i].id != id) continue;
      MPI_Request request = requests_[i];
      const bool sends = transfers_[i].sends;
      forget(i);
      int finished = 0;
      if (!sends) MPI_Cancel(&request);
      MPI_Test(&request, &finished, MPI_STATUS_IGNORE);
      for (int look_again = 0; !finished && !sends && look_again < 1000; ++look_again) {
        sched_yield();
        MPI_Test(&request, &finished, MPI_STATUS_IGNORE);
      }
      if (!finished) lost_.push_back(request);
      return finished != 0;
    }
    return true;
  }

  bool peek(int peer, Arrival* found) noexcept override {
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(peer, MPI_ANY_TAG, comm_, &there, &status) != MPI_SUCCESS || there == 0) return false;
    const std::size_t length = length_of(status);
    *found = {peer, static_cast<std::uint64_t>(status.MPI_TAG), length, length == chunk_};
    return found->tag != tags_ - 1;
  }

  void raise(const Alarm& alarm) noexcept override {
    announce();
    alarms_->raise(alarm);
  }
  bool hear(Alarm* alarm) noexcept override { return alarms_->hear(alarm); }

  void announce_in(std::atomic<std::uint32_t>& sent) noexcept override { sent_ = &sent; }
  void expect_nothing() noexcept override { nothing_sent_ = true; }

 private:
  void announce() noexcept {
    if (sent_ == nullptr) return;
    sent_->store(1, std::memory_order_release);
    sent_ = nullptr;
  }

  Status start(Transfer transfer) noexcept {
    if (transfer.peer < 0 || transfer.peer >= size_) {
      return fail(Status::invalid_argument, "a message with rank {} of {}", transfer.peer, size_);
    }
    const Status listed = guarded("to list a message", [&] {
      if (requests_.size() == requests_.capacity()) requests_.reserve(2 * requests_.size() + 64);
      transfers_.reserve(requests_.capacity());
      indices_.resize(requests_.capacity());
      statuses_.resize(requests_.capacity());
      // Abandoned requests need no allocation.
      if (lost_.capacity() < lost_.size() + requests_.capacity()) lost_.reserve(lost_.size() + requests_.capacity());
    });
    if (listed != Status::ok) return listed;
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer.sends) announce();
    if (const Status s = post(transfer, &request); s != Status::ok) return s;
    waiting_.reset();
    requests_.push_back(request);
    transfers_.push_back(transfer);
    return Status::ok;
  }

  Status post(const Transfer& t, MPI_Request* request) noexcept {
    const int length = static_cast<int>(std::min(t.size - t.moved, chunk_));
    std::byte* at = t.size ? t.data + t.moved : nullptr;
    const int code = t.sends ? MPI_Isend(at, length, MPI_BYTE, t.peer, t.tag, comm_, request)
                             : MPI_Irecv(at, length, MPI_BYTE, t.peer, t.tag, comm_, request);
    return code == MPI_SUCCESS ? Status::ok : translate(code);
  }

  int test(std::size_t first, int n, int* count) noexcept {
    const QuietErrors quiet;
    return MPI_Testsome(n, requests_.data() + first, count, indices_.data(), statuses_.data());
  }

  Status look(std::span<Completion> done, std::size_t* n) noexcept {
    if (requests_.empty()) return Status::ok;
    const std::size_t room = std::min(requests_.size(), done.size());
    if (next_ >= requests_.size()) next_ = 0;
    const std::size_t first = room == requests_.size() ? 0 : std::min(next_, requests_.size() - room);
    next_ = first + room;
    int count = 0;
    const int code = test(first, static_cast<int>(room), &count);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return translate(code);
    if (count == MPI_UNDEFINED || count <= 0) return Status::ok;
    for (int k = 0; k < count; ++k) {
      const std::size_t i = first + static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)]);
      const int error = code == MPI_ERR_IN_STATUS ? statuses_[static_cast<std::size_t>(k)].MPI_ERROR : MPI_SUCCESS;
      Completion completion;
      if (advance(i, error, statuses_[static_cast<std::size_t>(k)], &completion)) done[(*n)++] = completion;
    }
    // From the back, so that indices stay valid.
    std::sort(indices_.begin(), indices_.begin() + count);
    for (int k = count - 1; k >= 0; --k) {
      const std::size_t i = first + static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)]);
      if (requests_[i] == MPI_REQUEST_NULL) forget(i);
    }
    return Status::ok;
  }

  // A chunk of transfer i has ended. True if the message has, as *completion describes.
  bool advance(std::size_t i, int error, const MPI_Status& status, Completion* completion) noexcept {
    Transfer& t = transfers_[i];
    *completion = {t.id, t.moved, Status::ok};
    if (error != MPI_SUCCESS) {
      completion->status = translate(error);
      if (completion->status == Status::incompatible) completion->bytes = t.moved + length_of(status);
      return true;
    }
    const std::size_t length = t.sends ? std::min(t.size - t.moved, chunk_) : length_of(status);
    t.moved += length;
    completion->bytes = t.moved;
    if (length < chunk_) return true;
    completion->status = post(t, &requests_[i]);
    return completion->status != Status::ok;
  }

  void forget(std::size_t i) noexcept {
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
    transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  MPI_Comm comm_;
  bool* const freeable_;  // null: `comm_` is this object's
  int rank_;
  int size_;
  std::uint64_t tags_;
  std::size_t chunk_;
  std::size_t next_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Transfer> transfers_;
  Waiting waiting_{true};
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<MPI_Request> lost_;  // abandoned; has room for all of requests_
  std::optional<MpiAlarms> alarms_;
  std::atomic<std::uint32_t>* sent_ = nullptr;  // null: announced, or nobody asks
  bool nothing_sent_ = false;
};

// On MPI_COMM_WORLD, which sessions lack; Open MPI has no limit on split communicators.
std::uint64_t tags_of(MPI_Comm comm) noexcept {
  constexpr std::uint64_t least = 32768;
  int found = 0, world = 0;
  int* upper = nullptr;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &upper, &found);
  if (!found && MPI_Initialized(&world) == MPI_SUCCESS && world)
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
  return found ? static_cast<std::uint64_t>(*upper) + 1 : least;
}

}  // namespace

Status make_mpi_carrier_on(MPI_Comm comm, const MpiOptions& options, bool* freeable,
                           std::unique_ptr<Carrier>* made) noexcept {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const std::uint64_t most = tags_of(comm);
  std::uint64_t tags = 1;
  while (tags * 2 <= most) tags *= 2;
  return guarded({"for the carrier of rank {}", rank}, [&] {
    *made = std::make_unique<MpiCarrier>(comm, freeable, rank, size, tags, options.chunk);
    if (freeable != nullptr) *freeable = false;
  });
}

Status make_mpi_carrier(MPI_Comm comm, const MpiOptions& options, std::unique_ptr<Carrier>* made,
                        Duplicates* ready) noexcept {
  if (options.chunk < 1 || options.chunk > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return fail(Status::invalid_argument, "chunk of {} bytes is not in 1 .. 2^31 - 1", options.chunk);
  }
  MPI_Comm own = MPI_COMM_NULL;
  const int code = ready ? ready->take(comm, &own) : MPI_Comm_dup(comm, &own);
  if (code != MPI_SUCCESS) return translate(code);
  const Status s = make_mpi_carrier_on(own, options, nullptr, made);
  if (s != Status::ok) MPI_Comm_free(&own);
  return s;
}

}  // namespace stretto::modules
