#include "api/comm_cores.hpp"
#include "api/communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "call/enums.hpp"
#include "carrier/paced.hpp"
#include "carrier/threads.hpp"

using namespace stretto;
using call::to_c;

namespace {

constexpr std::chrono::seconds kPatience{300};
constexpr Purpose kPurpose = "for a communicator";

}  // namespace

struct stretto_thread_group_s {
  struct Parts {
    Parts() = default;
    explicit Parts(int ranks)
        : agreement(carrier::make_thread_group(ranks)),
          data(carrier::make_thread_group(ranks)),
          devices(carrier::make_thread_group(ranks)),
          chooser(
              std::make_shared<select::SharedChooser>(model::built_in(), topology::Topology::regular(ranks, ranks))) {}
    std::shared_ptr<carrier::ThreadGroup> agreement, data, devices;
    std::shared_ptr<select::SharedChooser> chooser;  // threads are ranks of one host
  };

  // Threads meet on arrival, and again when each has made its communicator or failed, and leave with one status.
  // Allocates nothing, so that a thread without memory can report it.
  struct Meeting {
    explicit Meeting(int ranks) : taken(static_cast<std::size_t>(ranks)) {}
    std::vector<char> taken;
    int arrived = 0, finished = 0, inside = 0;
    bool over = false, all_finished = false;
    Status status = Status::ok;
    std::array<char, 128> why{};
    Parts parts;

    void reset() {
      parts = {};
      std::fill(taken.begin(), taken.end(), 0);
      arrived = finished = 0;
      over = all_finished = false;
      status = Status::ok;
    }
    // The first failure counts, with its thread's message.
    void refuse(Status s) {
      if (status != Status::ok) return;
      status = s;
      copy_message(why);
    }
  };

  explicit stretto_thread_group_s(int n) : ranks(n), meetings{Meeting(n), Meeting(n)} {}
  const int ranks;
  std::mutex mutex;
  std::condition_variable changed;
  // Used in turn: a rank that enters one has left the other, which slower ranks may still be leaving.
  std::array<Meeting, 2> meetings;
  std::size_t current = 0;
};

namespace {

using Meeting = stretto_thread_group_s::Meeting;
using Parts = stretto_thread_group_s::Parts;

class Participation {
 public:
  explicit Participation(stretto_thread_group_s& group) : group_(group), lock_(group.mutex) {
    at_ = &group_.meetings[group_.current];
    group_.changed.wait(lock_, [&] { return !at_->over; });  // slower ranks still leave the previous one
    ++at_->inside;
  }
  ~Participation() {
    if (!lock_.owns_lock()) lock_.lock();
    if (--at_->inside == 0) at_->reset();
    group_.changed.notify_all();
  }
  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;

  // Waits until all ranks have come, or one of them is late.
  void come(int rank, bool usable) {
    Meeting& m = *at_;
    if (!usable) {
      m.refuse(fail(Status::invalid_argument, "comm is NULL on rank {}", rank));
    } else if (rank < 0 || rank >= group_.ranks) {
      m.refuse(fail(Status::invalid_argument, "rank {} is not in [0, {})", rank, group_.ranks));
    } else if (m.taken[static_cast<std::size_t>(rank)]++) {
      m.refuse(fail(Status::invalid_argument, "rank {} is taken twice", rank));
    }
    if (++m.arrived == group_.ranks) end(m);
    if (!await(m.over)) {
      m.refuse(fail(Status::timeout, "{} of {} threads came to create a communicator", m.arrived, group_.ranks));
      end(m);
    }
    lock_.unlock();
  }

  void finish(Status made) {
    lock_.lock();
    if (made != Status::ok) at_->refuse(made);
    if (++at_->finished == at_->arrived) at_->all_finished = true;
    group_.changed.notify_all();
    group_.changed.wait(lock_, [&] { return at_->all_finished; });
  }

  const Parts& parts() const noexcept { return at_->parts; }
  // Valid after finish(); equal on all ranks.
  Status status() const noexcept { return at_->status; }
  Status told() const noexcept { return fail(at_->status, std::string_view(at_->why.data())); }

 private:
  void end(Meeting& m) {
    if (m.over) return;
    if (m.status == Status::ok)
      if (const Status s = guarded(kPurpose, [&] { m.parts = Parts(group_.ranks); }); s != Status::ok) m.refuse(s);
    m.over = true;
    group_.current ^= 1;
    group_.changed.notify_all();
  }

  bool await(const bool& what) {
    return group_.changed.wait_for(lock_, kPatience, [&] { return what; });
  }

  stretto_thread_group_s& group_;
  std::unique_lock<std::mutex> lock_;
  Meeting* at_ = nullptr;
};

Status make(const Parts& parts, int rank, std::unique_ptr<stretto_comm_s>* made) noexcept {
  if (!parts.data) return Status::ok;  // refused already
  return guarded({"for a communicator on rank {}", rank}, [&]() -> Status {
    if (const Status s = api::ask_comm_cores(); s != Status::ok) return s;
    api::Carriers c{carrier::make_thread_carrier(parts.agreement, rank), carrier::make_thread_carrier(parts.data, rank),
                    carrier::make_thread_carrier(parts.devices, rank)};
    if (const Status s = carrier::pace(&c.data); s != Status::ok) return s;
    *made = std::make_unique<stretto_comm_s>(std::move(c), parts.chooser, "ranks are threads of a process");
    (*made)->let_others_drive();
    return Status::ok;
  });
}

}  // namespace

extern "C" {

stretto_status stretto_thread_group_create(int ranks, stretto_thread_group* group) {
  if (!group) return to_c(fail(Status::invalid_argument, "group is NULL"));
  *group = nullptr;
  if (ranks < 1) return to_c(fail(Status::invalid_argument, "{} ranks; a group has at least one", ranks));
  return to_c(guarded({"for a group of {} threads", ranks}, [&] { *group = new stretto_thread_group_s(ranks); }));
}

stretto_status stretto_thread_group_free(stretto_thread_group group) {
  delete group;
  return STRETTO_OK;
}

stretto_status stretto_comm_create_threads(stretto_thread_group group, int rank, stretto_comm* comm) {
  if (!group) return to_c(fail(Status::invalid_argument, "group is NULL"));
  if (comm) *comm = nullptr;
  std::unique_ptr<stretto_comm_s> made;  // freed after the meeting if it is not handed out
  Participation participation(*group);
  participation.come(rank, comm != nullptr);
  participation.finish(make(participation.parts(), rank, &made));
  if (participation.status() != Status::ok) return to_c(participation.told());
  *comm = made.release();
  return STRETTO_OK;
}

stretto_status stretto_comm_free(stretto_comm comm) {
  if (!comm) return STRETTO_OK;
  if (const Status s = api::usable(comm); s != Status::ok) return to_c(s);
  if (comm->requests() > 0)
    return to_c(
        fail(Status::invalid_argument, "{} requests of the communicator are there: free them first", comm->requests()));
  delete comm;
  return STRETTO_OK;
}

int stretto_comm_size(stretto_comm comm) { return comm ? comm->size : -1; }
int stretto_comm_rank(stretto_comm comm) { return comm ? comm->rank : -1; }
}
