// With check = 0, launched ranks with different calls get an error status, and nothing behind a receive buffer is
// written. Each case ends its own communicator.
#include <string>

#include "../../launched.hpp"
#include "../ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace api_test;

namespace {

constexpr std::size_t kRoom = 400000;
constexpr float kUnused = -77;

struct Arguments {
  std::size_t count = 100000;
  stretto_type type = STRETTO_F32;
  stretto_op op = STRETTO_SUM;
  stretto_options options = STRETTO_OPTIONS_INIT;
};

Arguments by(const char* schedule) {
  Arguments g;
  g.options.schedule = schedule;
  g.options.check = 0;
  g.options.timeout = 60;  // reached only where a rank was told nothing
  return g;
}

// The last rank calls `last`, the others `most`. Expects this rank's status, and `text` in its message unless empty.
stretto_status call(const Arguments& most, const Arguments& last, const std::string& text) {
  stretto_comm comm = nullptr;
  EXPECT_EQ(stretto_comm_create(MPI_COMM_WORLD, &comm), STRETTO_OK) << stretto_message();
  const Arguments& g = stretto_comm_rank(comm) + 1 == stretto_comm_size(comm) ? last : most;
  const std::vector<float> x(kRoom, 1.0f);
  std::vector<float> y(kRoom, kUnused);
  const stretto_status s = stretto_allreduce(x.data(), y.data(), g.count, g.type, g.op, comm, &g.options);
  const std::string said = stretto_message();
  EXPECT_TRUE(s == STRETTO_OK || said.find(text) != std::string::npos) << said;
  std::size_t written = 0;
  for (std::size_t i = g.count; i < kRoom; ++i) written += y[i] != kUnused;
  EXPECT_EQ(written, 0u) << "elements behind the buffer were written; " << said;
  EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  return s;
}

void expect_told(const Arguments& most, const Arguments& last, const std::string& text = "calls differently") {
  EXPECT_EQ(call(most, last, text), STRETTO_INCOMPATIBLE);
}

}  // namespace

TEST(DifferingUnchecked, Counts) {
  for (const char* schedule : {"ring", "recursive_doubling"}) {
    SCOPED_TRACE(schedule);
    Arguments most = by(schedule), last = most;
    last.count = 61000;
    expect_told(most, last);
    most.count = last.count - 1;
    expect_told(most, last);
  }
}

TEST(DifferingUnchecked, TypesOfOneSize) {
  Arguments last = by("ring");
  last.type = STRETTO_I32;
  expect_told(by("ring"), last, " of ");
}

TEST(DifferingUnchecked, Operations) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100000}}) {
    Arguments most = by("recursive_doubling"), last = most;
    most.count = last.count = count;
    last.op = STRETTO_MAX;
    expect_told(most, last, "recursive_doubling");
  }
}

TEST(DifferingUnchecked, Segments) {
  Arguments last = by("recursive_doubling");
  last.options.segment = 16384;
  expect_told(by("recursive_doubling"), last);
}

TEST(DifferingUnchecked, Schedules) { expect_told(by("ring"), by("recursive_doubling")); }

// They wait in different exchanges.
TEST(DifferingUnchecked, CheckItselfEndsWithTheTimeout) {
  Arguments most = by("ring"), last = most;
  most.options.timeout = last.options.timeout = 1;
  last.options.check = 1;
  const stretto_status s = call(most, last, "rank ");
  EXPECT_TRUE(s == STRETTO_TIMEOUT || s == STRETTO_INCOMPATIBLE) << s;
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
