// Each system call of stretto fails once, on one rank, in a communicator's life. The communicator is made on all ranks
// or on none, collectives give right results or a status, no rank hangs, and nothing leaks. tests/node has this test
// for processes that meet anew.
#include <chrono>
#include <optional>

#include "../launched.hpp"
#include "faults.hpp"
#include "life.hpp"

using namespace boundary;

namespace {

using Clock = std::chrono::steady_clock;

// A life with call number n of rank `who` failing. False: there are fewer calls.
bool one_life(const Fault& fault, long n, int who) {
  SCOPED_TRACE(testing::Message() << fault.call << " " << n << " of rank " << who);
  const int before = descriptors();
  const Clock::time_point begun = Clock::now();
  std::optional<Fails> fails;
  if (world_rank() == who) fails.emplace(fault, n);
  {
    Life life;
    EXPECT_EQ(count_of(life.made()), life.made() ? world_size() : 0) << life.text();
    EXPECT_TRUE(life.made() || !life.text().empty());
    for (const std::size_t count : {2, 100000}) {
      if (!life.made()) break;
      const bool sum = life.allreduce(count);
      EXPECT_EQ(count_of(sum), sum ? world_size() : 0) << life.text();
      EXPECT_TRUE(sum || !life.text().empty());
      const bool all = life.allgather(count);
      EXPECT_EQ(count_of(all), all ? world_size() : 0) << life.text();
      EXPECT_TRUE(all || !life.text().empty());
    }
  }
  const bool struck = fails && fails->struck();
  fails.reset();
  const int any = count_of(struck);
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(shared_mappings(), 0);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(60));  // far below any limit of a wait
  return any > 0;
}

TEST(EveryCall, ThatFailsOnceEndsInAResultOrAStatus) {
  {  // objects that a process makes once
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    ASSERT_TRUE(life.allgather(100000)) << life.text();
  }
  int kinds = 0;
  for (const Fault& fault : faults()) {
    for (const int who : {0, world_size() - 1}) {
      // A rank that waits asks now and then whether others live, however often.
      const long most = std::string_view(fault.call) == "poll" ? 3 : 200;
      long n = 0;
      while (n < most && count_of(HasFailure()) == 0 && one_life(fault, n, who)) ++n;
      EXPECT_LT(n, 200) << fault.call;
      kinds += n > 0 ? 1 : 0;
    }
    if (count_of(HasFailure()) > 0) break;
  }
  EXPECT_GT(kinds, 10);  // of both ranks: calls are counted at all
}

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
