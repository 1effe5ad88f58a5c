#include "modules/mpi/transport.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/guarded.hpp"
#include "base/interrupt.hpp"
#include "base/text/positive.hpp"
#include "base/waiting.hpp"
#include "modules/mpi/carrier.hpp"
#include "modules/mpi/device_messages.hpp"
#include "modules/mpi/limit.hpp"
#include "modules/mpi/native/native.hpp"
#include "modules/mpi/settings/eager_limit.hpp"
#include "modules/mpi/settings/variables.hpp"

namespace stretto::modules {
namespace {

Status usable(MPI_Comm parent) noexcept {
  int initialised = 0, finalised = 0, inter = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (!initialised || finalised)
    return fail(Status::invalid_argument, "MPI is {}", finalised ? "finalised" : "not initialised");
  if (parent == MPI_COMM_NULL) return fail(Status::invalid_argument, "the communicator is MPI_COMM_NULL");
  if (MPI_Comm_test_inter(parent, &inter) != MPI_SUCCESS) return fail(Status::mpi_error, "MPI_Comm_test_inter failed");
  return inter ? fail(Status::unsupported, "an intercommunicator") : Status::ok;
}

// Seconds; negative: no limit.
double limit_of_creation() noexcept {
  const char* const text = secure_getenv("STRETTO_TIMEOUT");
  double seconds = -1;
  return text && read_positive(text, &seconds) ? seconds : -1;
}

constexpr const char* kCreation = "stretto_comm_create";

Status failed(const char* function) noexcept {
  return fail(Status::mpi_error, "{} failed while a communicator was created", function);
}

// Polls, so that an interrupt ends it. Later steps wait inside the MPI, but for no late rank.
Status meet(MPI_Comm parent) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_questions{50};
  MPI_Request here = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(parent, &here) != MPI_SUCCESS) return failed("MPI_Ibarrier");
  Waiting waiting(true);
  for (Clock::time_point asked = Clock::now();; waiting.rest()) {
    int all = 0;
    if (MPI_Test(&here, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS) return failed("MPI_Ibarrier");
    if (all) return Status::ok;
    if (Clock::now() - asked < between_questions) continue;
    asked = Clock::now();
    if (interrupted()) return fail(Status::timeout, "interrupted: ranks wait for others in {}", kCreation);
  }
}

using SharedWatchdog = std::shared_ptr<carrier::Watchdog>;

// Null without memory: no limit then.
SharedWatchdog watchdog_on(MPI_Comm comm) noexcept {
  return value_or<SharedWatchdog>(nullptr,
                                  [&] { return std::make_shared<carrier::Watchdog>(abort_program(comm, {})); });
}

class MpiTransport final : public backend::Transport {
 public:
  // Takes over `comm`. `watchdog` and `limit` (seconds) are its creation's.
  MpiTransport(MPI_Comm comm, Duplicates ready, SharedWatchdog watchdog, double limit) noexcept
      : comm_(comm), ready_(std::move(ready)), watchdog_(std::move(watchdog)) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    creation_.emplace(watchdog_.get(), kCreation, limit);
  }
  ~MpiTransport() override {
    int over = 0;
    MPI_Finalized(&over);
    if (!over && freeable_) MPI_Comm_free(&comm_);
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  using Exchange::allgather;
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    const int n = static_cast<int>(bytes);
    return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, comm_) == MPI_SUCCESS ? Status::ok
                                                                                    : failed("MPI_Allgather");
  }
  Status broadcast(void* data, std::size_t bytes) noexcept override {
    return MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, comm_) == MPI_SUCCESS ? Status::ok
                                                                                       : failed("MPI_Bcast");
  }

  std::string name() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    std::string flavour = all.substr(0, all.find_first_of(" \t\n"));
    for (const char* known : {"Open MPI", "MPICH"})
      if (all.find(known) != std::string::npos) flavour = known;
    const std::size_t from = all.find_first_of("0123456789");
    if (from == std::string::npos) return flavour;
    return flavour + " " + all.substr(from, all.find_first_not_of("0123456789.", from) - from);
  }

  Status make_carrier(std::unique_ptr<carrier::Carrier>* carrier) noexcept override {
    if (std::exchange(shared_, true)) return make_mpi_carrier(comm_, {}, carrier, &ready_);
    return make_mpi_carrier_on(comm_, {}, &freeable_, carrier);
  }

  Status make_device_messages(const device::Plugin&, int, double limit,
                              std::unique_ptr<carrier::DeviceMessages>* made) noexcept override {
    return make_mpi_device_messages(comm_, limit, MpiOptions{}.chunk, made);
  }

  std::unique_ptr<backend::Backend> make_native() override {
    native_ = std::make_shared<carrier::Watchdog>(abort_program(comm_, {}));
    return make_mpi_native(comm_, native_);
  }

  std::size_t eager_limit() noexcept override { return mpi_eager_limit(); }
  bool has_han() noexcept override { return mpi_has_han(); }
  bool yields() noexcept override { return query_mpi_yields(); }
  void set_yields(bool yields) noexcept override { set_mpi_yields(yields); }

  bool any_thread() const noexcept override {
    int level = MPI_THREAD_SINGLE;
    return MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  }

  std::vector<int> numbers() const override {
    std::vector<int> own(static_cast<std::size_t>(size_)), all(own.size(), -1);
    std::iota(own.begin(), own.end(), 0);
    MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(here, size_, own.data(), world, all.data());
    MPI_Group_free(&here);
    MPI_Group_free(&world);
    return all;
  }

  int others_here() const noexcept override {
    int world = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
      const char* told = secure_getenv(name);
      const int here = told != nullptr ? std::atoi(told) : 0;
      if (here > 0) world = std::min(world, here);
    }
    return std::max(0, world - size_);
  }

  // No rank sends to itself: an MPI that finds a message need not progress.
  void progress() noexcept override {
    int found = 0;
    MPI_Iprobe(rank_, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
  }

  void created(std::function<std::string()> ended) noexcept override {
    creation_.reset();
    watchdog_.reset();
    if (native_ && ended)  // without memory, missing in the diagnosis
      static_cast<void>(attempt([&] { native_->set_late(abort_program(comm_, std::move(ended))); }));
  }

 private:
  MPI_Comm comm_;
  bool shared_ = false;  // the first carrier has `comm_`, too: collectives of the MPI meet no messages
  bool freeable_ = true;
  Duplicates ready_;
  int rank_ = 0, size_ = 1;
  SharedWatchdog watchdog_;
  SharedWatchdog native_;
  std::optional<carrier::Limited> creation_;
};

}  // namespace

Status make_mpi_transport(MPI_Comm parent, std::unique_ptr<backend::Transport>* transport, Duplicates ready) noexcept {
  enum Made : int { no_duplicate, no_memory, complete };
  if (const Status s = usable(parent); s != Status::ok) return s;
  const ErrorsReturned returned(parent);
  const double limit = limit_of_creation();
  SharedWatchdog watchdog = limit > 0 ? watchdog_on(parent) : nullptr;
  std::optional<carrier::Limited> limited(std::in_place, watchdog.get(), kCreation, limit);
  if (const Status s = meet(parent); s != Status::ok) return s;
  MPI_Comm duplicate = MPI_COMM_NULL;
  const bool taken = ready.take(parent, &duplicate) == MPI_SUCCESS;
  std::unique_ptr<MpiTransport> made;
  bool room = false;
  if (taken) {
    MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
    limited.reset();
    made.reset(new (std::nothrow) MpiTransport(duplicate, std::move(ready), std::move(watchdog), limit));
    room = made && attempt([&] { made->make_room(); });
  }
  int mine = room ? complete : taken ? no_memory : no_duplicate, all = no_duplicate;
  const int code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, parent);
  if (taken && !made) MPI_Comm_free(&duplicate);  // may wait for all ranks
  if (code != MPI_SUCCESS) return failed("MPI_Allreduce");
  const char* const where = mine == all ? "this" : "another";
  if (all == no_duplicate) return fail(Status::mpi_error, "MPI_Comm_dup failed on {} rank", where);
  if (all == no_memory) return fail(Status::out_of_memory, "no memory for a communicator on {} rank", where);
  *transport = std::move(made);
  return Status::ok;
}

}  // namespace stretto::modules
