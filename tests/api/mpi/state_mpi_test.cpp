// The queryable state of MPI and process is equal before and after communicators of ours, and calls of every form on
// them.
#include <fenv.h>
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <clocale>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "../../launched.hpp"
#include "../forms/forms.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"

extern char** environ;

using namespace api_test;

namespace {

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// By name, for failure messages.
using State = std::map<std::string, std::string>;

void ask_mpi(State* state) {
  int level = 0, main = 0, flag = 0, size = 0;
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&main);
  (*state)["thread level"] = std::to_string(level);
  (*state)["thread is main"] = std::to_string(main);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    const std::string of = comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD's " : "MPI_COMM_SELF's ";
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &handler);
    (*state)[of + "error handler"] = bytes_of(handler);
    MPI_Errhandler_free(&handler);
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Comm_get_name(comm, name, &size);
    (*state)[of + "name"] = name;
    for (const int key : {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM}) {
      void* value = nullptr;
      MPI_Comm_get_attr(comm, key, &value, &flag);
      (*state)[of + "attribute " + std::to_string(key)] = flag ? std::to_string(*static_cast<int*>(value)) : "none";
    }
  }
}

std::string members(const sigset_t& set) {
  std::string all;
  for (int signal = 1; signal < NSIG; ++signal) all += sigismember(&set, signal) == 1 ? '1' : '0';
  return all;
}

void ask_process(State* state) {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0)
      (*state)["signal " + std::to_string(signal)] =
          bytes_of(action.sa_handler) + bytes_of(action.sa_flags) + members(action.sa_mask);
  }
  sigset_t blocked;
  sigemptyset(&blocked);
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  (*state)["blocked signals"] = members(blocked);
  for (char** entry = environ; *entry; ++entry) (*state)["environment"] += std::string(*entry) + '\n';
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  (*state)["affinity"] = bytes_of(cores);
  (*state)["scheduler"] = std::to_string(sched_getscheduler(0));
  (*state)["priority"] = std::to_string(getpriority(PRIO_PROCESS, 0));
  (*state)["rounding mode"] = std::to_string(fegetround());
#if defined(__x86_64__)
  (*state)["control of SSE"] = std::to_string(__builtin_ia32_stmxcsr() & ~0x3fu);  // without the flags of what happened
#endif
  (*state)["dumpable"] = std::to_string(prctl(PR_GET_DUMPABLE));
  (*state)["subreaper"] = [] {
    int is = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &is);
    return std::to_string(is);
  }();
  (*state)["no new privileges"] = std::to_string(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  for (const int resource : {RLIMIT_AS, RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_STACK}) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    (*state)["limit " + std::to_string(resource)] = bytes_of(limit);
  }
  const mode_t mask = umask(0);
  umask(mask);
  (*state)["umask"] = std::to_string(mask);
  (*state)["locale"] = std::setlocale(LC_ALL, nullptr);
  (*state)["directory"] = std::filesystem::current_path();
}

State state_of() {
  State state;
  ask_mpi(&state);
  ask_process(&state);
  return state;
}

void expect_same(const State& before, const State& after) {
  for (const auto& [what, value] : before)
    EXPECT_TRUE(after.contains(what) && after.at(what) == value) << what << " is another";
  EXPECT_EQ(before.size(), after.size());
}

TEST(State, StaysWhatItIsWhenACommunicatorIsMade) {
  const State before = state_of();
  stretto_comm comm = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
  expect_same(before, state_of());
  ASSERT_STRETTO_OK(stretto_comm_free(comm));
  expect_same(before, state_of());
}

TEST(State, StaysWhatItIsThroughTenCallsOfEveryForm) {
  const State before = state_of();
  stretto_comm comm = nullptr;
  ASSERT_STRETTO_OK(stretto_comm_create(MPI_COMM_WORLD, &comm));
  for (std::size_t round = 0; round < 10; ++round)
    for (const std::string& wrong : run_forms(comm, round)) ADD_FAILURE() << wrong;
  ASSERT_STRETTO_OK(stretto_comm_free(comm));
  expect_same(before, state_of());
}

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv, MPI_THREAD_MULTIPLE); }
