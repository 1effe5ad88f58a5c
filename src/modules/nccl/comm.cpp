// All messages use one communicator and one stream: NCCL serialises a communicator's operations on any stream. Several
// communicators on a device may deadlock, unless all ranks begin their operations in one order, as the engine does
// (engine/device/direct.cpp).
//
// Functions may return in_progress. A group waits here until the previous group is enqueued.
#include "modules/nccl/comm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "call/inputs.hpp"
#include "modules/nccl/collectives.hpp"
#include "modules/nccl/library.hpp"

namespace stretto::modules::nccl {
namespace {

using Clock = std::chrono::steady_clock;
using carrier::DeviceTransfer;

class NcclComm final : public backend::DeviceComm {
 public:
  NcclComm(const Library& nccl, const backend::DevicePlace& place) noexcept : nccl_(nccl), place_(place) {}
  ~NcclComm() override { end(); }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  Status open(const backend::DeviceCommId& id) noexcept {
    if (const Status s = device(plugin().create_stream(&stream_), "a stream"); s != Status::ok) return s;
    UniqueId unique;
    static_assert(sizeof unique == sizeof id);
    std::memcpy(&unique, id.data(), sizeof unique);
    Config config;
    config.blocking = 0;
    const Result r = nccl_.comm_init_rank_config(&comm_, place_.size, unique, place_.rank, &config);
    return settled(r, "ncclCommInitRankConfig", place_.limit);
  }

  const char* name() const noexcept override { return nccl_.name.c_str(); }
  bool one_by_one() const noexcept override { return true; }

  Status start(std::span<const DeviceTransfer> group) noexcept override {
    if (broken_) return broken();
    const Status listed = guarded("for messages over NCCL", [&] {
      groups_.push_back({{group.begin(), group.end()}, nullptr, State::waits});
    });
    if (listed != Status::ok) return listed;
    return go_on();
  }

  Status poll(std::span<carrier::Completion> done, std::size_t* n) noexcept override {
    *n = 0;
    if (broken_) return broken();
    if (groups_.empty()) return Status::ok;
    if (const Status s = check(); s != Status::ok) return s;
    if (const Status s = go_on(); s != Status::ok) return s;
    while (!groups_.empty() && groups_.front().state == State::moves) {
      Group& first = groups_.front();
      int over = 0;
      if (const Status s = device(plugin().is_over(first.event, &over), "messages"); s != Status::ok) return s;
      if (over == 0) break;
      while (!first.transfers.empty() && *n < done.size()) {
        const DeviceTransfer& t = first.transfers.back();
        done[(*n)++] = {t.id, t.bytes, Status::ok};
        first.transfers.pop_back();
      }
      if (!first.transfers.empty()) break;
      free_events_.push_back(first.event);
      groups_.pop_front();
    }
    return Status::ok;
  }

  void abort() noexcept override {
    if (comm_ != nullptr) static_cast<void>(nccl_.comm_abort(comm_));
    comm_ = nullptr;
    own_block_ = {};
    if (broken_) return;
    // The cause's message stays this thread's.
    fmt::format_to_n(why_.data(), why_.size() - 1, "{}: the communicator was ended", name());
    broken_ = true;
  }

  bool serves(const call::Call& c) const noexcept override { return has_collective(c); }

  Status begin(const call::Call& c, void* stream) noexcept override {
    own_block_ = {};
    if (broken_) return broken();
    if (c.count == 0) return Status::ok;
    if (c.collective == call::Collective::reduce_scatter_block && call::in_place(c.send) && place_.rank > 0)
      own_block_ = {static_cast<std::byte*>(c.recv), c.count * stretto_type_size(c.type), stream};
    return told(enqueue_collective(nccl_, c, place_.rank, comm_, stream), "a collective");
  }

  Status begun(bool* enqueued) noexcept override {
    *enqueued = false;
    if (broken_) return broken();
    Result r = Result::success;
    if (const Result asked = nccl_.comm_get_async_error(comm_, &r); asked != Result::success) r = asked;
    if (const Status s = told(r, "a collective"); s != Status::ok) return s;
    *enqueued = r != Result::in_progress;
    if (!*enqueued || own_block_.to == nullptr) return Status::ok;
    const OwnBlock b = std::exchange(own_block_, {});
    return device(plugin().copy(b.to, b.to + static_cast<std::size_t>(place_.rank) * b.bytes, b.bytes, b.stream),
                  "a copy");
  }

  Status check() noexcept override {
    if (broken_) return broken();
    Result r = Result::success;
    const Result asked = nccl_.comm_get_async_error(comm_, &r);
    return told(asked == Result::success ? r : asked, "its work");
  }

 private:
  enum class State : char { waits, starts, moves };
  struct Group {
    std::vector<DeviceTransfer> transfers;
    void* event = nullptr;
    State state = State::waits;
  };

  // NCCL leaves a rank's block at its place in the vector; stretto moves it to the beginning.
  struct OwnBlock {
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    void* stream = nullptr;
  };

  const device::Plugin& plugin() const noexcept { return *place_.plugin; }

  Status told(Result r, const char* what) noexcept {
    if (r == Result::success || r == Result::in_progress) return Status::ok;
    const char* more = comm_ != nullptr ? nccl_.get_last_error(comm_) : nullptr;
    const Status s = fail(Status::internal, "{}, {}: {}{}{}", name(), what, nccl_.get_error_string(r),
                          more && *more ? ": " : "", more ? more : "");
    keep_message();
    return s;
  }

  Status device(int error, const char* what) noexcept {
    if (error == 0) return Status::ok;
    const Status s = fail(Status::internal, "{} on device {}, {}: CUDA error {}: {}", name(), place_.device, what,
                          error, plugin().error_text(error));
    keep_message();
    return s;
  }

  void keep_message() noexcept {
    if (!broken_) copy_message(why_);
    broken_ = true;
  }
  Status broken() const noexcept { return fail(Status::internal, std::string_view(why_.data())); }

  // Waits until the group is enqueued, at most `limit` seconds.
  Status settled(Result r, const char* what, double limit) noexcept {
    const auto begun = Clock::now();
    Waiting waiting(true);
    while (r == Result::in_progress) {
      const std::chrono::duration<double> waited = Clock::now() - begun;
      if (limit > 0 && waited.count() > limit) {
        const Status s = fail(Status::timeout, "{}, {}: not all ranks have come within {} s", name(), what, limit);
        keep_message();
        abort();
        return s;
      }
      waiting.rest();
      if (const Result asked = nccl_.comm_get_async_error(comm_, &r); asked != Result::success) r = asked;
    }
    return told(r, what);
  }

  // In order, as far as possible without waiting.
  Status go_on() noexcept {
    for (Group& g : groups_) {
      if (g.state == State::moves) continue;
      if (g.state == State::waits) {
        if (const Status s = begin(&g); s != Status::ok) return s;
      }
      Result r = Result::success;
      if (const Result asked = nccl_.comm_get_async_error(comm_, &r); asked != Result::success) r = asked;
      if (r == Result::in_progress) return Status::ok;
      if (const Status s = told(r, "a group of messages"); s != Status::ok) return s;
      if (const Status s = device(plugin().record(g.event, stream_), "an event"); s != Status::ok) return s;
      g.state = State::moves;
    }
    return Status::ok;
  }

  Status begin(Group* g) noexcept {
    if (const Status s = take_event(&g->event); s != Status::ok) return s;
    Status s = told(nccl_.group_start(), "ncclGroupStart");
    if (s != Status::ok) return s;
    for (const DeviceTransfer& t : g->transfers) {
      if (s != Status::ok) break;
      s = t.sends ? told(nccl_.send(t.data, t.bytes, Type::u8, t.peer, comm_, stream_), "ncclSend")
                  : told(nccl_.recv(t.data, t.bytes, Type::u8, t.peer, comm_, stream_), "ncclRecv");
    }
    const Status ended = told(nccl_.group_end(), "ncclGroupEnd");
    g->state = State::starts;
    return s == Status::ok ? ended : s;
  }

  Status take_event(void** event) noexcept {
    if (free_events_.empty()) {
      const Status listed = guarded("for an event", [&] { free_events_.reserve(++events_); });
      if (listed != Status::ok) return listed;
      return device(plugin().create_event(event), "an event");
    }
    *event = free_events_.back();
    free_events_.pop_back();
    return Status::ok;
  }

  // Ranks end a communicator together; longer waits are in vain.
  void end() noexcept {
    constexpr double longest = 5;
    int current = -1;
    static_cast<void>(plugin().current_device(&current));
    static_cast<void>(plugin().use_device(place_.device));
    if (comm_ != nullptr && !broken_ && groups_.empty()) {
      if (settled(nccl_.comm_finalize(comm_), "ncclCommFinalize", longest) == Status::ok && comm_ != nullptr) {
        static_cast<void>(nccl_.comm_destroy(comm_));
        comm_ = nullptr;
      }
    }
    abort();
    for (const Group& g : groups_) {
      if (g.event != nullptr) static_cast<void>(plugin().destroy_event(g.event));
    }
    for (void* event : free_events_) static_cast<void>(plugin().destroy_event(event));
    if (stream_ != nullptr) static_cast<void>(plugin().destroy_stream(stream_));
    if (current >= 0) static_cast<void>(plugin().use_device(current));
  }

  const Library& nccl_;
  const backend::DevicePlace place_;
  Comm comm_ = nullptr;
  void* stream_ = nullptr;
  std::deque<Group> groups_;
  std::vector<void*> free_events_;
  std::size_t events_ = 0;
  OwnBlock own_block_;
  bool broken_ = false;
  std::array<char, 512> why_{};
};

Status no_memory() noexcept {
  return fail(Status::out_of_memory, std::string_view("no memory for a communicator of NCCL"));
}

}  // namespace

Status make_id(backend::DeviceCommId* id) noexcept {
  const Library* nccl = nullptr;
  if (const Status s = find_library(&nccl); s != Status::ok) return s;
  UniqueId unique{};
  if (const Result r = nccl->get_unique_id(&unique); r != Result::success)
    return fail(Status::internal, "{}, ncclGetUniqueId: {}", nccl->name, nccl->get_error_string(r));
  std::memcpy(id->data(), &unique, sizeof unique);
  return Status::ok;
}

Status make_comm(const backend::DevicePlace& place, const backend::DeviceCommId& id,
                 std::unique_ptr<backend::DeviceComm>* made) noexcept {
  const Library* nccl = nullptr;
  if (const Status s = find_library(&nccl); s != Status::ok) return s;
  std::unique_ptr<NcclComm> comm(new (std::nothrow) NcclComm(*nccl, place));
  if (!comm) return no_memory();
  if (const Status s = comm->open(id); s != Status::ok) return s;
  *made = std::move(comm);
  return Status::ok;
}

}  // namespace stretto::modules::nccl
