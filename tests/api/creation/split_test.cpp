// Trees split between the callers and a communication core: results equal the blocking call's bit for bit, for any
// split, and no starting call waits for other ranks.
#include <sched.h>

#include <atomic>
#include <cstring>
#include <string>

#include "../ranks.hpp"
#include "stretto/stretto_persistent.h"

using namespace api_test;

namespace {

constexpr const char* kVariable = "STRETTO_SPLIT";

struct Split {
  explicit Split(int levels) { setenv(kVariable, std::to_string(levels).c_str(), 1); }
  ~Split() { unsetenv(kVariable); }
};

struct Core {
  explicit Core(bool on) {
    const int core = sched_getcpu();
    EXPECT_EQ(stretto_comm_cores(&core, on ? 1 : 0), STRETTO_OK) << stretto_message();
  }
  ~Core() { EXPECT_EQ(stretto_comm_cores(nullptr, 0), STRETTO_OK); }
};

enum class Form { blocking, started, persistent };
constexpr const char* kKinds[] = {"allreduce", "reduce", "bcast", "gather", "scatter"};

void finish(stretto_request* r) {
  ASSERT_STRETTO_OK(stretto_wait(*r));
  ASSERT_STRETTO_OK(stretto_request_free(r));
}

// Runs collective `kind` on this rank; `result` is its output, empty if it has none.
void run(int kind, Form form, stretto_comm comm, int rank, int ranks, const stretto_options* o,
         std::vector<float>* result) {
  constexpr std::size_t n = 20'000;
  const int root = ranks / 2;
  const bool is_root = rank == root;
  const auto x = wave(rank, kind == 4 ? n * std::size_t(ranks) : n);
  std::vector<float>& y = *result;
  y.assign(kind == 3 ? (is_root ? n * std::size_t(ranks) : 0) : kind == 1 && !is_root ? 0 : n, 0);
  if (kind == 2 && is_root) y = x;
  stretto_request r = nullptr;
  const auto f = STRETTO_F32;
  const auto sum = STRETTO_SUM;
  const bool blocks = form == Form::blocking, starts = form == Form::started;
  switch (kind) {
    case 0:
      ASSERT_STRETTO_OK(blocks   ? stretto_allreduce(x.data(), y.data(), n, f, sum, comm, o)
                        : starts ? stretto_iallreduce(x.data(), y.data(), n, f, sum, comm, o, &r)
                                 : stretto_allreduce_init(x.data(), y.data(), n, f, sum, comm, o, &r));
      break;
    case 1:
      ASSERT_STRETTO_OK(blocks   ? stretto_reduce(x.data(), y.data(), n, f, sum, root, comm, o)
                        : starts ? stretto_ireduce(x.data(), y.data(), n, f, sum, root, comm, o, &r)
                                 : stretto_reduce_init(x.data(), y.data(), n, f, sum, root, comm, o, &r));
      break;
    case 2:
      ASSERT_STRETTO_OK(blocks   ? stretto_bcast(y.data(), n, f, root, comm, o)
                        : starts ? stretto_ibcast(y.data(), n, f, root, comm, o, &r)
                                 : stretto_bcast_init(y.data(), n, f, root, comm, o, &r));
      break;
    case 3:
      ASSERT_STRETTO_OK(blocks   ? stretto_gather(x.data(), y.data(), n, f, root, comm, o)
                        : starts ? stretto_igather(x.data(), y.data(), n, f, root, comm, o, &r)
                                 : stretto_gather_init(x.data(), y.data(), n, f, root, comm, o, &r));
      break;
    default:
      ASSERT_STRETTO_OK(blocks   ? stretto_scatter(x.data(), y.data(), n, f, root, comm, o)
                        : starts ? stretto_iscatter(x.data(), y.data(), n, f, root, comm, o, &r)
                                 : stretto_scatter_init(x.data(), y.data(), n, f, root, comm, o, &r));
  }
  if (form == Form::persistent) {
    for (int again = 0; again < 2; ++again) {
      ASSERT_STRETTO_OK(stretto_start(r));
      ASSERT_STRETTO_OK(stretto_wait(r));
    }
  }
  if (form != Form::blocking) finish(&r);
}

}  // namespace

TEST(Split, EverySplitGivesTheBlockingCallsBitsWithAndWithoutCores) {
  for (const int ranks : {1, 2, 3, 5, 9}) {
    for (int levels = 0; levels <= 3; ++levels) {
      for (const bool on : {true, false}) {
        const Split split(levels);
        const Core core(on);
        on_ranks(ranks, [&](stretto_comm comm, int rank, int p) {
          for (const char* schedule : {"binomial", "knomial", "leader"}) {
            for (const double bound : {0.0, 1e-3}) {
              if (bound > 0 && (levels == 1 || schedule != std::string("binomial"))) continue;
              for (int kind = 0; kind < int(std::size(kKinds)); ++kind) {
                stretto_report report = STRETTO_REPORT_INIT;
                stretto_options o = bound > 0 ? bounded(bound) : defaults();
                o.schedule = schedule;
                o.payload = bound > 0 ? STRETTO_PAYLOAD_FUSED : STRETTO_PAYLOAD_RAW;
                o.check = levels % 2;
                o.report = &report;
                std::vector<float> blocking, started;
                run(kind, Form::blocking, comm, rank, p, &o, &blocking);
                ASSERT_EQ(report.split, 0);
                for (const Form form : {Form::started, Form::persistent}) {
                  run(kind, form, comm, rank, p, &o, &started);
                  ASSERT_EQ(started.size(), blocking.size());
                  ASSERT_TRUE(started.empty() || std::memcmp(started.data(), blocking.data(), 4 * started.size()) == 0)
                      << kKinds[kind] << " by " << schedule << ", " << p << " ranks, split " << levels;
                  ASSERT_EQ(report.split, on ? levels : 0) << kKinds[kind] << " by " << schedule;
                }
              }
            }
          }
        });
      }
    }
  }
}

TEST(Split, ManyInFlightEndInAnyOrder) {
  const Split split(1);
  const Core core(true);
  on_ranks(5, [](stretto_comm comm, int rank, int ranks) {
    constexpr std::size_t flights = 12;
    stretto_options o = defaults();
    o.schedule = "binomial";
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<std::vector<double>> x, y;
      std::vector<stretto_request> r(flights, nullptr);
      for (std::size_t k = 0; k < flights; ++k) {
        x.push_back(samples<double>(rank, 1 + 700 * k));
        y.emplace_back(x[k].size());
        o.check = k % 2 == 0;
        ASSERT_STRETTO_OK(
            stretto_iallreduce(x[k].data(), y[k].data(), y[k].size(), STRETTO_F64, STRETTO_SUM, comm, &o, &r[k]));
      }
      for (std::size_t k = 0; k < flights; ++k) finish(&r[rank % 2 ? flights - 1 - k : k]);
      for (const auto& v : y) {
        double sum = 0;
        for (int other = 0; other < ranks; ++other) sum += sample(other, v.size() - 1);
        ASSERT_EQ(v.back(), sum);
      }
    }
  });
}

// Rank 0, the root, returns from its starting call before rank 1 starts.
TEST(Split, ACallThatStartsReturnsThoughAnotherRankHasNotCome) {
  const Split split(3);
  const Core core(true);
  std::atomic<bool> back{false};
  on_ranks(2, [&](stretto_comm comm, int rank, int) {
    stretto_options o = defaults();
    o.schedule = "binomial";
    for (const int check : {0, 1}) {
      o.check = check;
      const double x = rank + 1;
      double y = 0;
      stretto_request r = nullptr;
      while (rank == 1 && !back) std::this_thread::yield();
      ASSERT_STRETTO_OK(stretto_ireduce(&x, &y, 1, STRETTO_F64, STRETTO_SUM, 0, comm, &o, &r));
      if (rank == 0) back = true;
      finish(&r);
      if (rank == 0) {
        EXPECT_EQ(y, 3);
      }
      if (rank == 1) back = false;
      ASSERT_STRETTO_OK(stretto_barrier(comm, nullptr));
    }
  });
}

// Rank 1 does not test or wait before rank 0, which waits for its last message, has all.
TEST(Split, StepsAfterTheWorkRunThoughTheCallerNeverPolls) {
  const Split split(3);
  const Core core(true);
  std::atomic<int> through{0};
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    stretto_options o = defaults();
    o.schedule = "binomial";
    double y = rank == 1 ? 7 : 0;
    stretto_request r = nullptr;
    ASSERT_STRETTO_OK(stretto_ibcast(&y, 1, STRETTO_F64, 1, comm, &o, &r));
    while (rank == 1 && through < 2) std::this_thread::yield();
    finish(&r);
    ++through;
    EXPECT_EQ(y, 7);
  });
}

TEST(Split, AForcedNumberOfLevelsThatIsNoneIsRefusedByName) {
  for (const char* wrong : {"two", "-1", "31", "1.5", "1 "}) {
    setenv(kVariable, wrong, 1);
    stretto_thread_group group = nullptr;
    ASSERT_EQ(stretto_thread_group_create(1, &group), STRETTO_OK);
    stretto_comm comm = nullptr;
    EXPECT_EQ(stretto_comm_create_threads(group, 0, &comm), STRETTO_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(stretto_message(), std::string("STRETTO_SPLIT=") + wrong + ": a number of levels, from 0 to 30");
    EXPECT_EQ(stretto_thread_group_free(group), STRETTO_OK);
  }
  unsetenv(kVariable);
}
