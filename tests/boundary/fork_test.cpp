// A forked child that uses its parent's communicator gets a refusal, whatever it calls, and the parent's ranks go on.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "../launched.hpp"
#include "life.hpp"

#ifndef PRELOADED
#include "stretto/stretto_nonblocking.h"
#endif

using namespace boundary;

namespace {

// The child's exit status, 0 if all its expectations hold; a signal's number + 1000.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#ifndef PRELOADED
bool is_refusal(const std::string& text) { return text.find("forked child") != std::string::npos; }
#endif

void is_refused(Life& life, std::size_t count) {
  for (int call = 0; call < 6; ++call) ASSERT_TRUE(life.allreduce(count)) << life.text();  // prepared, too
  EXPECT_EQ(in_child([&] {
#ifdef PRELOADED
              return life.allreduce(count) ? 1 : 0;
#else
              if (life.allreduce(count) || !is_refusal(life.text())) return 1;
              return !life.allgather(7) && is_refusal(life.text()) ? 0 : 2;
#endif
            }),
            0);
  for (int call = 0; call < 6; ++call) EXPECT_TRUE(life.allreduce(count)) << life.text();
}

TEST(Fork, ChildIsRefusedAShortCall) {
  Life life;
  ASSERT_TRUE(life.made()) << life.text();
  is_refused(life, 2);
}

TEST(Fork, ChildIsRefusedALongCall) {
  Life life;
  ASSERT_TRUE(life.made()) << life.text();
  is_refused(life, 300000);
}

#ifndef PRELOADED
TEST(Fork, ChildIsRefusedEachSchedule) {
  for (const char* schedule : {"node", "native", "ring"}) {
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    life.schedule(schedule);
    is_refused(life, 1000);
  }
}

TEST(Fork, ChildIsRefusedRequestsAndFreeingACommunicator) {
  Life life;
  ASSERT_TRUE(life.made()) << life.text();
  const stretto_options o = STRETTO_OPTIONS_INIT;
  float x = 1, y = 0;
  stretto_request request = nullptr;
  ASSERT_EQ(stretto_iallreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, life.comm(), &o, &request), STRETTO_OK);
  EXPECT_EQ(in_child([&] {
              int done = 0;
              stretto_request other = nullptr;
              const stretto_status all[] = {
                  stretto_test(request, &done), stretto_wait(request), stretto_request_free(&request),
                  stretto_iallreduce(&x, &y, 1, STRETTO_F32, STRETTO_SUM, life.comm(), &o, &other),
                  stretto_comm_free(life.comm())};
              int wrong = other == nullptr ? 0 : 1;
              for (const stretto_status s : all) wrong += s == STRETTO_UNSUPPORTED ? 0 : 1;
              return wrong + (is_refusal(stretto_message()) ? 0 : 1);
            }),
            0);
  EXPECT_EQ(stretto_wait(request), STRETTO_OK) << stretto_message();
  EXPECT_EQ(y, static_cast<float>(world_size()));
  EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
}

TEST(Fork, ChildIsRefusedACommunicatorOfThreads) {
  stretto_thread_group group = nullptr;
  ASSERT_EQ(stretto_thread_group_create(1, &group), STRETTO_OK);
  stretto_comm comm = nullptr;
  ASSERT_EQ(stretto_comm_create_threads(group, 0, &comm), STRETTO_OK);
  EXPECT_EQ(in_child([&] { return stretto_barrier(comm, nullptr) == STRETTO_UNSUPPORTED ? 0 : 1; }), 0);
  EXPECT_EQ(stretto_barrier(comm, nullptr), STRETTO_OK);
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  EXPECT_EQ(stretto_thread_group_free(group), STRETTO_OK);
}
#endif

TEST(Fork, ChildWithoutCallsLeavesTheRanksUnchanged) {
  Life life;
  ASSERT_TRUE(life.made()) << life.text();
  for (int call = 0; call < 6; ++call) {
    EXPECT_EQ(in_child([] { return 0; }), 0);
    EXPECT_TRUE(life.allreduce(1000)) << life.text();
  }
}

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
