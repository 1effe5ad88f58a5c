#include "modules/mpi/device_messages.hpp"

#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "modules/mpi/carrier.hpp"
#include "modules/mpi/quiet.hpp"

namespace stretto::modules {

using namespace carrier;

namespace {

constexpr const char* kDeviceSetting = "STRETTO_DEVICE_MPI";

template <class F>
F find(const char* name) noexcept {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

bool ask() noexcept {
  constexpr int cuda = 0;
  int yes = 0;
  if (const auto query = find<int (*)()>("MPIX_Query_cuda_support")) return query() == 1;
  const auto query = find<int (*)(int, int*)>("MPIX_GPU_query_support");
  return query && query(cuda, &yes) == MPI_SUCCESS && yes != 0;
}

class MpiDeviceMessages final : public DeviceMessages {
 public:
  MpiDeviceMessages(MPI_Comm comm, std::size_t chunk) noexcept : comm_(comm), chunk_(chunk) {}

  ~MpiDeviceMessages() override {
    int over = 0;
    MPI_Finalized(&over);
    if (over) return;
    // While messages may arrive, the communicator is left to the MPI (carrier.cpp).
    const bool settled = requests_.empty() && !has_arrivals(comm_);
    for (MPI_Request& r : requests_) MPI_Request_free(&r);
    if (settled) MPI_Comm_free(&comm_);
  }

  const char* name() const noexcept override { return "MPI with device pointers"; }
  bool one_by_one() const noexcept override { return false; }

  Status start(std::span<const DeviceTransfer> group) noexcept override {
    if (broken_) return fail(Status::internal, "messages between devices over MPI have been ended");
    std::size_t chunks = 0;
    for (const DeviceTransfer& t : group) chunks += (t.bytes + chunk_ - 1) / chunk_;
    const Status listed = guarded({"to list {} messages between devices", group.size()}, [&] {
      requests_.reserve(requests_.size() + chunks);
      parts_.reserve(requests_.capacity());
      indices_.resize(requests_.capacity());
      statuses_.resize(requests_.capacity());
      transfers_.reserve(transfers_.size() + group.size());
    });
    if (listed != Status::ok) return listed;
    for (const DeviceTransfer& t : group) {
      if (const Status s = start(t); s != Status::ok) {
        broken_ = true;
        return s;
      }
    }
    return Status::ok;
  }

  Status poll(std::span<Completion> done, std::size_t* n) noexcept override {
    *n = 0;
    if (!broken_ && !requests_.empty()) {
      if (const Status s = look(); s != Status::ok) return s;
    }
    for (std::size_t i = 0; i < transfers_.size() && *n < done.size();) {
      const Transfer& t = transfers_[i];
      if (t.chunks > 0) {
        ++i;
        continue;
      }
      done[(*n)++] = {t.id, t.bytes, t.status};
      forget(i);
    }
    return Status::ok;
  }

  // Sends cannot be withdrawn.
  void abort() noexcept override {
    broken_ = true;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!parts_[i].sends) MPI_Cancel(&requests_[i]);
    }
    transfers_.clear();
  }

 private:
  struct Transfer {
    std::uint64_t id;
    std::size_t bytes;
    std::size_t chunks;
    Status status;
  };
  struct Part {
    std::size_t transfer;
    int bytes;
    bool sends;
  };

  Status start(const DeviceTransfer& t) noexcept {
    transfers_.push_back({t.id, t.bytes, 0, Status::ok});
    auto* const data = static_cast<std::byte*>(t.data);
    for (std::size_t at = 0; at < t.bytes; at += chunk_) {
      const int bytes = static_cast<int>(std::min(t.bytes - at, chunk_));
      const int tag = static_cast<int>(t.tag);
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = t.sends ? MPI_Isend(data + at, bytes, MPI_BYTE, t.peer, tag, comm_, &request)
                               : MPI_Irecv(data + at, bytes, MPI_BYTE, t.peer, tag, comm_, &request);
      if (code != MPI_SUCCESS) return translate(code);
      requests_.push_back(request);
      parts_.push_back({transfers_.size() - 1, bytes, t.sends});
      ++transfers_.back().chunks;
    }
    return Status::ok;
  }

  Status look() noexcept {
    int count = 0;
    const QuietErrors quiet;
    const int code =
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return translate(code);
    if (count == MPI_UNDEFINED || count <= 0) return Status::ok;
    for (int k = 0; k < count; ++k) {
      const Part& part = parts_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)])];
      const MPI_Status& status = statuses_[static_cast<std::size_t>(k)];
      Transfer& t = transfers_[part.transfer];
      --t.chunks;
      const Status s = how(part, code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS, status);
      if (t.status == Status::ok) t.status = s;
    }
    std::sort(indices_.begin(), indices_.begin() + count);
    for (int k = count - 1; k >= 0; --k) {
      const auto at = static_cast<std::ptrdiff_t>(indices_[static_cast<std::size_t>(k)]);
      requests_.erase(requests_.begin() + at);
      parts_.erase(parts_.begin() + at);
    }
    return Status::ok;
  }

  static Status how(const Part& part, int error, const MPI_Status& status) noexcept {
    if (error != MPI_SUCCESS) return translate(error);
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (part.sends || length == part.bytes) return Status::ok;
    return fail(Status::incompatible, "{} bytes came of rank {}'s device where {} were announced", length,
                status.MPI_SOURCE, part.bytes);
  }

  void forget(std::size_t i) noexcept {
    transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(i));
    for (Part& p : parts_) p.transfer -= p.transfer > i;
  }

  MPI_Comm comm_;
  const std::size_t chunk_;
  bool broken_ = false;
  std::vector<Transfer> transfers_;
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

Status least_of_all(MPI_Comm comm, int mine, double limit, int* least) noexcept {
  using Clock = std::chrono::steady_clock;
  struct Numbers {
    int mine, least;
  };
  Numbers here{mine, 0};
  std::unique_ptr<Numbers> lasting(new (std::nothrow) Numbers(here));  // null: no limit
  Numbers* const numbers = lasting ? lasting.get() : &here;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Iallreduce(&numbers->mine, &numbers->least, 1, MPI_INT, MPI_MIN, comm, &request);
  const auto begin = Clock::now();
  Waiting waiting(true);
  for (int all = 0; code == MPI_SUCCESS && !all; waiting.rest()) {
    code = MPI_Test(&request, &all, MPI_STATUS_IGNORE);
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (all || !lasting || limit <= 0 || waited.count() <= limit) continue;
    static_cast<void>(lasting.release());  // leaked: the MPI may still use it
    return fail(Status::timeout, "a rank did not come within {} s to say whether its MPI takes device memory", limit);
  }
  *least = numbers->least;
  return code == MPI_SUCCESS ? Status::ok : translate(code);
}

}  // namespace

Status takes_device_memory(bool* takes) noexcept {
  const char* const text = secure_getenv(kDeviceSetting);
  const std::string_view given = text ? text : "";
  *takes = given.empty() ? ask() : given == "1";
  if (given.empty() || given == "0" || given == "1") return Status::ok;
  return fail(Status::invalid_argument, "{} is '{}'; it takes 0 or 1", kDeviceSetting, given);
}

Status make_mpi_device_messages(MPI_Comm comm, double limit, std::size_t chunk,
                                std::unique_ptr<DeviceMessages>* made) noexcept {
  made->reset();
  bool takes = false;
  int all = 0;
  const Status mine = takes_device_memory(&takes);
  if (const Status s = least_of_all(comm, mine == Status::ok ? takes : -static_cast<int>(mine), limit, &all);
      s != Status::ok)
    return s;
  if (mine != Status::ok) return mine;
  if (all < 0) return fail(static_cast<Status>(-all), "a rank cannot say whether its MPI takes device memory");
  if (all == 0) return Status::ok;
  MPI_Comm own = MPI_COMM_NULL;
  if (const int code = MPI_Comm_dup(comm, &own); code != MPI_SUCCESS) return translate(code);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  made->reset(new (std::nothrow) MpiDeviceMessages(own, chunk));
  if (const Status s = least_of_all(own, *made ? 1 : 0, limit, &all); s != Status::ok) return s;
  if (all == 1) return Status::ok;
  if (!*made) MPI_Comm_free(&own);
  made->reset();
  return fail(Status::out_of_memory, "no memory for messages between devices on a rank");
}

}  // namespace stretto::modules
