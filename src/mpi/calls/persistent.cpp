#include "mpi/calls/persistent.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/calls/shape.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"

namespace stretto::mpi {
namespace {

using Clock = std::chrono::steady_clock;

struct Prepared {
  Function operation{};
  std::int64_t bytes = 0;
};

class All {
 public:
  void put(MPI_Request request, const Prepared& p) {
    const std::lock_guard lock(mutex_);
    all_.insert_or_assign(request, p);
  }
  void erase(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    all_.erase(request);
  }
  std::optional<Prepared> find(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<MPI_Request, Prepared> all_;
};

All& all() {
  static All& all = *new All;  // programs end late
  return all;
}

}  // namespace

bool counts_starts() noexcept {
  const Runtime* r = runtime();
  return r && r->settings.report;
}

void prepared(const WrappedCall& call, MPI_Request request) noexcept {
  if (!counts_starts() || call.comm == MPI_COMM_NULL) return;
  try {
    Shape shape;
    if (const Communicator* c = find_communicator(call.comm)) static_cast<void>(shape_of(call, *c, &shape));
    all().put(request, {call.operation, shape.bytes});
  } catch (...) {  // its starts are not counted
  }
}

int start(std::span<const MPI_Request> requests, Native native) noexcept {
  if (!counts_starts()) return native();
  const Clock::time_point begun = Clock::now();
  const int code = native();
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  Runtime* r = runtime();
  try {
    for (const MPI_Request request : requests) {
      const std::optional<Prepared> p = all().find(request);
      if (!p) continue;
      Tally t;
      t.calls = 1;
      t.bytes = static_cast<double>(p->bytes);
      t.seconds = seconds / static_cast<double>(requests.size());
      const std::string name = operation_names[static_cast<std::size_t>(p->operation)];
      r->statistics.add({name + "_start", "MPI", r->apart ? apart_reason : "persistent"}, t, true);
    }
  } catch (...) {  // without memory some are not counted
  }
  return code;
}

void released(MPI_Request request) noexcept {
  if (counts_starts()) all().erase(request);
}

}  // namespace stretto::mpi

using namespace stretto::mpi;

STRETTO_WRAPPER int MPI_Start(MPI_Request* request) {
  const auto native = [&] { return PMPI_Start(request); };
  return request ? start({request, 1}, native) : native();
}

STRETTO_WRAPPER int MPI_Startall(int count, MPI_Request requests[]) {
  const auto native = [&] { return PMPI_Startall(count, requests); };
  return count > 0 && requests ? start({requests, static_cast<std::size_t>(count)}, native) : native();
}

STRETTO_WRAPPER int MPI_Request_free(MPI_Request* request) {
  if (request) released(*request);
  return PMPI_Request_free(request);
}
