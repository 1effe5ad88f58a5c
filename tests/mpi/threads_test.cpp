// Waits on which other ranks depend: messages of the program, requests of other threads, and communicators made by
// threads. By MPI's progress rule each of these programs ends, so a fault is a hang.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "../launched.hpp"
#include "conformance/suite.hpp"

using namespace mpi_test;

namespace {

constexpr int kN = 50'000;

struct Vectors {
  std::vector<float> send = std::vector<float>(kN, 1), recv = std::vector<float>(kN);

  void blocking(MPI_Comm comm) { MPI_Allreduce(send.data(), recv.data(), kN, MPI_FLOAT, MPI_SUM, comm); }
  MPI_Request started(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(send.data(), recv.data(), kN, MPI_FLOAT, MPI_SUM, comm, &request);
    return request;
  }
  bool sums(int ranks) const {
    return std::all_of(recv.begin(), recv.end(), [&](float x) { return x == static_cast<float>(ranks); });
  }
};

// Used as often as it takes until stretto serves it.
MPI_Comm duplicate(MPI_Comm of) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(of, &made);
  for (int i = 0; i < 5; ++i) Vectors().blocking(made);
  return made;
}

const Comm& world() { return communicators().front(); }

bool any_thread() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

// A thread that completes a request of stretto's stays in its unpacking for a moment, if `armed`, or until `freed`.
std::atomic<bool> armed{false}, inside{false}, freed{false}, freed_inside{false};

void stay() {
  constexpr std::chrono::milliseconds moment(300);
  inside = true;
  for (const auto since = std::chrono::steady_clock::now();
       !freed && std::chrono::steady_clock::now() - since < moment;)
    std::this_thread::yield();
  freed_inside = freed.load();
}

}  // namespace

// In the place of the MPI's, for the library.
extern "C" int PMPI_Unpack(const void* packed, int bytes, int* position, void* to, int count, MPI_Datatype type,
                           MPI_Comm comm) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Unpack)>(dlsym(RTLD_NEXT, "PMPI_Unpack"));
  if (armed.exchange(false)) stay();
  return own(packed, bytes, position, to, count, type, comm);
}

TEST(Progress, ASynchronousSendEndsBesideABlockingCollective) {
  const Comm& w = world();
  if (w.size == 1) return;
  MPI_Comm comm = duplicate(w.comm);
  for (int round = 0; round < 20; ++round) {
    Vectors first, second;
    std::vector<float> message(kN);
    MPI_Request receive = MPI_REQUEST_NULL;
    if (w.rank == 0) MPI_Irecv(message.data(), kN, MPI_FLOAT, 1, 7, w.comm, &receive);
    if (w.rank == 1) MPI_Ssend(message.data(), kN, MPI_FLOAT, 0, 7, w.comm);
    MPI_Request request = first.started(comm);
    second.blocking(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    EXPECT_TRUE(first.sums(w.size) && second.sums(w.size));
  }
  MPI_Comm_free(&comm);
}

// Rank 0's blocking call on X ends only after a message that its other thread sends when its request on Y is complete.
TEST(Threads, ARequestEndsWhileAnotherThreadBlocks) {
  const Comm& w = world();
  if (w.size == 1 || !any_thread()) return;
  MPI_Comm x = duplicate(w.comm), y = duplicate(w.comm);
  for (int round = 0; round < 20; ++round) {
    std::thread other([&] {
      Vectors v;
      MPI_Request request = v.started(y);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_TRUE(v.sums(w.size));
      if (w.rank == 0) MPI_Send(nullptr, 0, MPI_BYTE, 1, 5, w.comm);
    });
    Vectors first, second;
    MPI_Request request = first.started(x);
    if (w.rank == 1) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 5, w.comm, MPI_STATUS_IGNORE);
    second.blocking(x);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_TRUE(first.sums(w.size) && second.sums(w.size));
    other.join();
  }
  MPI_Comm_free(&y);
  MPI_Comm_free(&x);
}

// The request is on the communicator of the blocking call, and is started before either thread waits.
TEST(Threads, ARequestEndsBesideABlockingCallOnItsCommunicator) {
  const Comm& w = world();
  if (w.size == 1 || !any_thread()) return;
  MPI_Comm x = duplicate(w.comm);
  for (int round = 0; round < 20; ++round) {
    Vectors first, second;
    MPI_Request request = first.started(x);
    std::thread other([&] {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (w.rank == 0) MPI_Send(nullptr, 0, MPI_BYTE, 1, 5, w.comm);
    });
    if (w.rank == 1) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 5, w.comm, MPI_STATUS_IGNORE);
    second.blocking(x);
    other.join();
    EXPECT_TRUE(first.sums(w.size) && second.sums(w.size));
  }
  MPI_Comm_free(&x);
}

// The data have moved, and the request is being completed.
TEST(Threads, AFreedCommunicatorLivesUntilItsRequestsAreComplete) {
  const Comm& w = world();
  if (w.size == 1 || !any_thread()) return;
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_vector(kN, 1, 2, MPI_FLOAT, &spread);
  MPI_Type_commit(&spread);
  MPI_Comm x = duplicate(w.comm);
  const std::vector<float> send(kN, static_cast<float>(w.rank));
  std::vector<float> recv(2 * size(kN) * size(w.size), -1);
  MPI_Request request = MPI_REQUEST_NULL;
  std::atomic<bool> complete{false};
  armed = true;
  inside = freed = freed_inside = false;
  MPI_Iallgather(send.data(), kN, MPI_FLOAT, recv.data(), 1, spread, x, &request);
  std::thread other([&] {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    complete = true;
  });
  while (!inside && !complete) std::this_thread::yield();
  MPI_Comm_free(&x);
  freed = true;
  other.join();
  armed = false;
  EXPECT_FALSE(freed_inside);
  MPI_Type_free(&spread);
}

// One thread makes communicators over other ranks than those of the collectives of two more threads.
TEST(Threads, CommunicatorsAreMadeBesideCollectives) {
  constexpr int rounds = 40;
  const Comm& w = world();
  if (!any_thread()) return;
  std::array<std::vector<MPI_Comm>, 3> comms;
  for (std::size_t t = 0; t < comms.size(); ++t)
    for (int round = 0; round < rounds; ++round) {
      const int kind = (round * 7 + static_cast<int>(t) * 5) % 4;
      const int part = kind == 1 ? w.rank % 2 : kind == 2 && w.rank == w.size - 1 ? MPI_UNDEFINED : 0;
      MPI_Comm_split(w.comm, part, kind == 0 ? -w.rank : w.rank, &comms[t].emplace_back());
    }
  const auto each = [&](std::size_t t, const auto& use) {
    for (const MPI_Comm comm : comms[t])
      if (comm != MPI_COMM_NULL) use(comm);
  };
  const auto collectives = [&](std::size_t t) {
    each(t, [](MPI_Comm comm) {
      for (int i = 0; i < 6; ++i) Vectors().blocking(comm);
    });
  };
  std::thread second(collectives, 1), third(collectives, 2);
  each(0, [](MPI_Comm comm) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &made);
    Vectors().blocking(made);
    MPI_Comm_free(&made);
  });
  second.join();
  third.join();
  for (auto& all : comms)
    for (MPI_Comm& comm : all)
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv, MPI_THREAD_MULTIPLE); }
