// Faults in collectives of device memory between processes: a lost device, a death, a rank that leaves early.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <unistd.h>

#include "../devices.hpp"
#include "ranks.hpp"
#include "stretto/stretto_cuda_collectives.h"

namespace {

using namespace stretto;

constexpr int kFaulty = 1;
constexpr std::size_t kCount = 50000;

int wrong = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), stretto_message());
  ++wrong;
}

struct Sums {
  stretto_comm comm;
  stretto_options options = STRETTO_OPTIONS_INIT;
  tests::DeviceVector<float> from{0, std::vector<float>(kCount, 1)}, to{0, kCount};

  explicit Sums(stretto_comm c) : comm(c) {
    options.timeout = 60;
    options.schedule = "ring";
  }
  // Pools hold streams.
  void use_streams() {
    options.bound_kind = STRETTO_BOUND_ABSOLUTE;
    options.bound = 0.25;
    options.payload = STRETTO_PAYLOAD_FUSED;
  }
  stretto_status sum() {
    return stretto_allreduce(from.data(), to.data(), kCount, STRETTO_F32, STRETTO_SUM, comm, &options);
  }
};

// Loses the device n calls of CUDA from now. Every rank's next call fails, and none waits until its limit.
void a_lost_device(const tests::Make& make, bool streams) {
  for (const long n : {0L, 5L, 15L, 30L, 60L, 100L}) {
    const std::string name = (streams ? "streams, lost at " : "lost at ") + std::to_string(n);
    tests::begin_order(static_cast<std::uint64_t>(n + 1));
    stretto_comm comm = make();
    {
      Sums s(comm);
      if (streams) s.use_streams();
      expect(s.sum() == STRETTO_OK, name);
      const bool mine = stretto_comm_rank(comm) == kFaulty;
      if (mine) tests::emulation().lose(0, n);
      const stretto_status now = s.sum();
      expect(now == STRETTO_OK || now == STRETTO_INTERNAL, name + ", the call");
      if (mine && now != STRETTO_OK) {
        expect(std::string(stretto_message()).find("CUDA error 214: uncorrectable ECC error") != std::string::npos,
               name + ", the message");
      }
      if (mine) tests::emulation().lose(0, 0);
      const stretto_status next = s.sum();
      const bool unusable = std::string(stretto_message()).find("unusable: ") != std::string::npos;
      expect(next == (unusable ? STRETTO_TIMEOUT : STRETTO_INTERNAL), name + ", the next call");
      if (mine) tests::emulation().lose(0, -1);
    }
    stretto_comm_free(comm);
  }
}

// Kills a rank during a call. The others' calls fail within their limit, and name the missing rank.
void a_death(const tests::Make& make, bool streams) {
  stretto_comm comm = make();
  Sums s(comm);
  if (streams) s.use_streams();
  expect(s.sum() == STRETTO_OK, "the first sum");
  s.options.timeout = 5;
  const long calls = tests::emulation().calls(0);
  std::thread killer;
  if (stretto_comm_rank(comm) == kFaulty) {
    killer = std::thread([calls] {
      while (tests::emulation().calls(0) < calls + 50) std::this_thread::yield();
      std::raise(SIGKILL);
    });
  }
  stretto_status now = STRETTO_OK;
  for (int i = 0; i < 1000 && now == STRETTO_OK; ++i) now = s.sum();
  expect(now == STRETTO_MPI_ERROR || now == STRETTO_TIMEOUT, "a sum without a rank");
  std::printf("rank %d heard: %s\n", stretto_comm_rank(comm), stretto_message());
  std::fflush(stdout);
  stretto_comm_free(comm);
  if (killer.joinable()) killer.join();
}

// True if device memory is still held after the end of the communicator. `early`: on the faulty rank, which leaves
// before the others.
bool keeps_memory(const tests::Make& make, bool early) {
  const std::size_t kept = tests::emulation().held(false);
  stretto_comm comm = make(), other = make();
  const bool leaves = early && stretto_comm_rank(comm) == kFaulty;
  {
    Sums s(comm);
    s.use_streams();
    for (int i = 0; i < 3; ++i) expect(s.sum() == STRETTO_OK, "a sum before the end");
  }
  expect(tests::emulation().held(false) > kept, "no memory was used");
  const auto meet = [other] { expect(stretto_barrier(other, nullptr) == STRETTO_OK, "a barrier"); };
  meet();
  if (early && !leaves) meet();  // until the faulty rank has left
  stretto_comm_free(comm);
  if (leaves) meet();
  stretto_comm_free(other);
  return tests::emulation().held(false) > kept && (leaves || !early);
}

// Memory opened by another process stays until that process releases it. If all leave together nothing stays; a busy
// machine may separate them once.
void an_early_end(const tests::Make& make) {
  bool released = false;
  for (int i = 0; i < 3; ++i) released = !keeps_memory(make, false) || released;
  expect(released, "memory was kept for nobody");
  stretto_comm comm = make();
  const bool leaves = stretto_comm_rank(comm) == kFaulty;
  stretto_comm_free(comm);
  expect(keeps_memory(make, true) == leaves, "memory was released that others have opened");
}

}  // namespace

namespace stretto::tests {

int faults_of_ranks(const std::string& how, const Make& make) {
  for (const bool streams : {false, true}) {
    if (how == "lost") a_lost_device(make, streams);
    if (how == (streams ? "killed_streams" : "killed")) a_death(make, streams);
  }
  if (how == "leaves") an_early_end(make);
  return wrong == 0 ? 0 : 1;
}

}  // namespace stretto::tests
