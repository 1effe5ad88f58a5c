// Runs of split schedules: each driver takes its own lanes, and the result is that of the schedule as a whole.
#include <gtest/gtest.h>

#include <barrier>

#include "cases/calls.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

// True if a rank of a binomial tree has steps after the work: it communicates on one of the first `split` levels.
bool has_after(int rank, int ranks, int split) {
  for (int level = 0; level < split; ++level) {
    const int reach = 1 << level, place = rank % (2 * reach);
    if (place == reach || (place == 0 && rank + reach < ranks)) return true;
  }
  return false;
}

TEST(Lanes, ADriverTakesItsOwnAlone) {
  constexpr std::size_t n = 5000;
  for (int p = 1; p <= 9; ++p) {
    for (int split = 0; split <= 3; ++split) {
      for (const Kind kind : {Kind::raw, Kind::fused}) {
        std::barrier together(p);
        on_ranks(p, [&](int rank, engine::Engine& engine) {
          const std::vector<float> in(n, 0.1f * static_cast<float>(rank + 1));
          std::vector<float> whole(n), out(n);
          EXPECT_EQ(engine.run(call_of(engine, Collective::allreduce, "binomial", kind, in, whole)), Status::ok);

          engine::Request request;
          engine.take({.beside = false, .after = false});
          EXPECT_EQ(engine.start(call_of(engine, Collective::allreduce, "binomial", kind, in, out, split), &request),
                    Status::ok);
          EXPECT_EQ(request.leads(), split > 0 && p > 1);
          for (; request.leads() && !engine.broken(); std::this_thread::yield())
            EXPECT_EQ(engine.progress(), Status::ok);
          together.arrive_and_wait();
          bool done = false;
          for (int look = 0; look < 50; ++look) EXPECT_EQ(request.test(&done), Status::ok);
          EXPECT_FALSE(done) << p << " ranks, split " << split;
          together.arrive_and_wait();

          engine.take({.before = false, .after = false});
          for (int look = 0; look < 50 && !done; ++look) EXPECT_EQ(request.test(&done), Status::ok);
          if (has_after(rank, p, split)) {
            EXPECT_FALSE(done) << rank << " of " << p << " ranks, split " << split;
          }
          together.arrive_and_wait();

          engine.take({});
          EXPECT_EQ(request.wait(), Status::ok);
          EXPECT_EQ(out, whole) << p << " ranks, split " << split;
        });
      }
    }
  }
}

// A waiting rank runs the remaining steps of every lane.
TEST(Lanes, WhoWaitsTakesAll) {
  on_ranks(5, [](int rank, engine::Engine& engine) {
    const std::vector<float> in(100, static_cast<float>(rank));
    std::vector<float> out(100);
    engine::Request request;
    engine.take({.before = false, .beside = false, .after = false});
    ASSERT_EQ(engine.start(call_of(engine, Collective::allreduce, "binomial", Kind::raw, in, out, 1), &request),
              Status::ok);
    ASSERT_EQ(request.wait(), Status::ok);
    EXPECT_EQ(out, std::vector<float>(100, 10));
  });
}

}  // namespace
}  // namespace stretto::tests
