// Communicators under their C names, and those over threads. Over MPI: mpi.cpp.
#include "api/communicator.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "call/enums.hpp"
#include "carrier/threads.hpp"

using namespace stretto;
using call::to_c;

namespace {

// One collective creation: the threads meet here, and leave with the same status.
struct Meeting {
  explicit Meeting(int ranks)
      : taken(static_cast<std::size_t>(ranks)),
        agreement(carrier::make_thread_group(ranks)),
        data(carrier::make_thread_group(ranks)),
        chooser(std::make_shared<select::SharedChooser>(model::built_in(), topology::Topology::regular(ranks, ranks))) {
  }
  std::vector<char> taken;
  int arrived = 0;
  bool over = false;
  Status status = Status::ok;
  std::string why;
  std::shared_ptr<carrier::ThreadGroup> agreement, data;
  std::shared_ptr<select::SharedChooser> chooser;  // threads are ranks of one host

  void refuse(Status s, std::string text) {
    if (status != Status::ok) return;
    status = s;
    why = std::move(text);
  }
};

constexpr std::chrono::seconds patience{300};

}  // namespace

struct stretto_thread_group_s {
  explicit stretto_thread_group_s(int n) : ranks(n) {}
  const int ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<Meeting> meeting;  // the one that is gathering
};

namespace {

// Waits until all ranks have come, or one of them is late.
std::shared_ptr<Meeting> meet(stretto_thread_group_s& group, int rank, bool usable) {
  std::unique_lock lock(group.mutex);
  if (!group.meeting) group.meeting = std::make_shared<Meeting>(group.ranks);
  const std::shared_ptr<Meeting> m = group.meeting;
  if (!usable) {
    m->refuse(Status::invalid_argument, fmt::format("comm is NULL on rank {}", rank));
  } else if (rank < 0 || rank >= group.ranks) {
    m->refuse(Status::invalid_argument, fmt::format("rank {} is not in [0, {})", rank, group.ranks));
  } else if (m->taken[static_cast<std::size_t>(rank)]++) {
    m->refuse(Status::invalid_argument, fmt::format("rank {} is taken twice", rank));
  }
  if (++m->arrived == group.ranks) m->over = true;
  const auto over = [&] { return m->over; };
  if (!m->over && !group.changed.wait_for(lock, patience, over)) {
    m->refuse(Status::timeout, fmt::format("{} of {} threads came to create a communicator", m->arrived, group.ranks));
    m->over = true;
  }
  if (group.meeting == m) group.meeting.reset();
  group.changed.notify_all();
  return m;
}

}  // namespace

extern "C" {

stretto_status stretto_thread_group_create(int ranks, stretto_thread_group* group) {
  if (!group) return to_c(fail(Status::invalid_argument, "group is NULL"));
  *group = nullptr;
  if (ranks < 1) return to_c(fail(Status::invalid_argument, "{} ranks; a group has at least one", ranks));
  *group = new (std::nothrow) stretto_thread_group_s(ranks);
  return *group ? STRETTO_OK : to_c(fail(Status::out_of_memory, "no memory for a group of {} threads", ranks));
}

stretto_status stretto_thread_group_free(stretto_thread_group group) {
  delete group;
  return STRETTO_OK;
}

stretto_status stretto_comm_create_threads(stretto_thread_group group, int rank, stretto_comm* comm) {
  if (!group) return to_c(fail(Status::invalid_argument, "group is NULL"));
  if (comm) *comm = nullptr;
  try {
    const std::shared_ptr<Meeting> m = meet(*group, rank, comm != nullptr);
    if (m->status != Status::ok) return to_c(fail(m->status, std::string_view(m->why)));
    api::Carriers c{carrier::make_thread_carrier(m->agreement, rank), carrier::make_thread_carrier(m->data, rank)};
    *comm = new stretto_comm_s(std::move(c), m->chooser, "ranks are threads of a process");
    return STRETTO_OK;
  } catch (...) {
    return to_c(fail(Status::out_of_memory, std::string_view("no memory for a communicator")));
  }
}

stretto_status stretto_comm_free(stretto_comm comm) {
  if (!comm) return STRETTO_OK;
  if (comm->requests > 0)
    return to_c(fail(Status::invalid_argument, "requests of the communicator that were not freed: {}", comm->requests));
  delete comm;
  return STRETTO_OK;
}

int stretto_comm_size(stretto_comm comm) { return comm ? comm->size : -1; }
int stretto_comm_rank(stretto_comm comm) { return comm ? comm->rank : -1; }

}  // extern "C"
