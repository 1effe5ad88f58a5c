// A rank fails alone while the others are fine: all soon learn the rank and the reason, whatever they wait in, and the
// communicator reports it from then on.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ranks.hpp"
#include "scarce.hpp"
#include "stretto/stretto_nonblocking.h"

using namespace api_test;
using stretto::tests::Plenty;
using stretto::tests::Scarce;

namespace {

constexpr int kRanks = 3;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

stretto_options patient() {
  stretto_options o = defaults();
  o.timeout = 60;  // reached only where a rank was told nothing
  return o;
}

// Rank 1 has no memory for its n-th allocation inside `call`. False: it made fewer.
template <class Make>
bool lacks_memory(long n, const Make& make) {
  std::atomic<bool> struck{false};
  std::barrier met(kRanks);
  on_ranks(kRanks, [&](stretto_comm comm, int rank, int) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << ", rank " << rank);
    auto call = make(comm, rank);
    ASSERT_STRETTO_OK(call());  // a learned failure is sticky
    stretto_status s = STRETTO_OK;
    if (rank == 1) {
      const Scarce scarce(n);
      s = call();
      const Plenty plenty;
      struck = scarce.struck();
    } else {
      s = call();
    }
    const std::string text = stretto_message();
    EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_OUT_OF_MEMORY) << text;
    EXPECT_TRUE(s == STRETTO_OK || contains(text, "memory")) << text;
    EXPECT_TRUE(s == STRETTO_OK || rank == 1 || contains(text, "rank ")) << text;
    met.arrive_and_wait();
    EXPECT_TRUE(struck || s == STRETTO_OK) << text;
    // A failure ends in an error everywhere, at once or in the next call. Some allocations are optional.
    const stretto_status next = call();
    const std::string later = stretto_message();
    EXPECT_FALSE(contains(later, "nothing came")) << later;
    EXPECT_TRUE(struck || next == STRETTO_OK) << later;
  });
  return struck;
}

// Rank 2 calls differently, and rank 1 has no memory for its n-th allocation in that call. False: it made fewer.
bool lacks_memory_to_differ(long n, std::size_t count) {
  std::atomic<bool> struck{false};
  on_ranks(kRanks, [&](stretto_comm comm, int rank, int) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << ", rank " << rank << ", " << count << " elements");
    const stretto_options o = patient();
    std::vector<float> x(count + 1, 1), y(count + 1);
    const auto call = [&](std::size_t many) {
      return stretto_allreduce(x.data(), y.data(), many, STRETTO_F32, STRETTO_SUM, comm, &o);
    };
    ASSERT_STRETTO_OK(call(count));
    stretto_status s = STRETTO_OK;
    if (rank == 1) {
      const Scarce scarce(n);
      s = call(count);
      const Plenty plenty;
      struck = scarce.struck();
    } else {
      s = call(rank == 2 ? count + 1 : count);
    }
    const std::string text = stretto_message();
    EXPECT_TRUE(s == STRETTO_INCOMPATIBLE || s == STRETTO_OUT_OF_MEMORY) << text;
    EXPECT_FALSE(contains(text, "nothing came")) << text;
  });
  return struck;
}

template <class Make>
void lacks_any_memory(const char* what, const Make& make) {
  long n = 0;
  while (n < 400 && !testing::Test::HasFailure() && lacks_memory(n, make)) ++n;
  EXPECT_GT(n, 2) << what;
  EXPECT_LT(n, 400) << what;
}

}  // namespace

TEST(Alone, AnAllreduceWithoutMemoryOnOneRank) {
  lacks_any_memory("allreduce", [](stretto_comm comm, int rank) {
    return [=, x = wave(rank, 5000), y = std::vector<float>(5000)]() mutable {
      stretto_options o = patient();
      o.bound_kind = STRETTO_BOUND_RELATIVE;
      o.scope = STRETTO_SCOPE_CONTRIBUTION;
      o.bound = 1e-4;
      o.payload = STRETTO_PAYLOAD_FUSED;
      o.schedule = "ring";
      return stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o);
    };
  });
}

TEST(Alone, AGathervWithoutMemoryOnOneRank) {
  lacks_any_memory("gatherv", [](stretto_comm comm, int rank) {
    return [=, x = wave(rank, 30), y = std::vector<float>(60)]() mutable {
      const stretto_options o = patient();
      const std::size_t counts[] = {10, 20, 30};
      return stretto_gatherv(x.data(), counts[rank], y.data(), counts, nullptr, STRETTO_F32, 0, comm, &o);
    };
  });
}

TEST(Alone, AStartedReduceWithoutMemoryOnOneRank) {
  lacks_any_memory("ireduce", [](stretto_comm comm, int rank) {
    return [=, x = wave(rank, 5000), y = std::vector<float>(5000)]() mutable {
      const stretto_options o = patient();
      stretto_request request = nullptr;
      stretto_status s = stretto_ireduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, 0, comm, &o, &request);
      if (s == STRETTO_OK) s = stretto_wait(request);
      EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
      return s;
    };
  });
}

// The others wait outside of any exchange in which this rank could report its failure.
TEST(Alone, AnAllreduceWithoutAnAgreementOrMemoryOnOneRank) {
  lacks_any_memory("allreduce, check = 0", [](stretto_comm comm, int rank) {
    return [=, x = wave(rank, 5000), y = std::vector<float>(5000)]() mutable {
      stretto_options o = patient();
      o.check = 0;
      o.schedule = "recursive_doubling";
      return stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o);
    };
  });
}

TEST(Alone, AnAllgathervWithoutAnAgreementOrMemoryOnOneRank) {
  lacks_any_memory("allgatherv, check = 0", [](stretto_comm comm, int rank) {
    return [=, x = wave(rank, 30), y = std::vector<float>(60)]() mutable {
      stretto_options o = patient();
      o.check = 0;
      const std::size_t counts[] = {10, 20, 30}, displs[] = {0, 10, 30};
      return stretto_allgatherv(x.data(), y.data(), counts, displs, STRETTO_F32, comm, &o);
    };
  });
}

TEST(Alone, EachRequestThatThereIsNoMemoryForSaysSo) {
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(10, 1), y(10);
    const stretto_options o = patient();
    stretto_request request = nullptr;
    const auto start = [&] {
      return stretto_iallreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o, &request);
    };
    for (int calls = 0; rank == 1 && calls < 2; ++calls) {
      EXPECT_EQ(stretto_test(nullptr, nullptr), STRETTO_INVALID_ARGUMENT);  // the message of another failure
      const Scarce scarce(0);
      EXPECT_EQ(start(), STRETTO_OUT_OF_MEMORY);
      EXPECT_STREQ(stretto_message(), "no memory for a request");
      EXPECT_EQ(request, nullptr);
    }
    if (rank == 1) return;
    EXPECT_EQ(start(), STRETTO_OK);
    EXPECT_EQ(stretto_wait(request), STRETTO_OUT_OF_MEMORY);
    EXPECT_STREQ(stretto_message(), "rank 1 gave up: no memory for a request");
    EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), x.size(), STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_TIMEOUT);
    EXPECT_STREQ(stretto_message(), "the communicator is unusable: rank 1 gave up: no memory for a request");
  });
}

TEST(Alone, ACallThatDiffersWithoutMemoryToTellHow) {
  for (const std::size_t count : {std::size_t{100}, std::size_t{30000}}) {
    long n = 0;
    while (n < 400 && !testing::Test::HasFailure() && lacks_memory_to_differ(n, count)) ++n;
    EXPECT_GT(n, 2);
    EXPECT_LT(n, 400);
  }
}

// Those that have no test of their own above. More than 4 KiB: shorter values need no memory after a first call.
TEST(Alone, EachOtherCollectiveWithoutMemoryOnOneRank) {
  using Call = stretto_status (*)(int rank, float* x, float* y, stretto_comm comm, const stretto_options* o);
  static constexpr std::size_t kCounts[] = {10, 20, 30}, kSame[] = {10, 10, 10}, kDispls[] = {0, 10, 20};
  static constexpr std::pair<const char*, Call> kCalls[] = {
      {"reduce",
       [](int, float* x, float* y, stretto_comm c, const stretto_options* o) {
         return stretto_reduce(x, y, 1100, STRETTO_F32, STRETTO_SUM, 0, c, o);
       }},
      {"reduce_scatter_block",
       [](int, float* x, float* y, stretto_comm c, const stretto_options* o) {
         return stretto_reduce_scatter_block(x, y, 300, STRETTO_F32, STRETTO_SUM, c, o);
       }},
      {"reduce_scatter",
       [](int, float* x, float* y, stretto_comm c, const stretto_options* o) {
         return stretto_reduce_scatter(x, y, kCounts, STRETTO_F32, STRETTO_SUM, c, o);
       }},
      {"scan", [](int, float* x, float* y, stretto_comm c,
                  const stretto_options* o) { return stretto_scan(x, y, 1000, STRETTO_F32, STRETTO_SUM, c, o); }},
      {"exscan", [](int, float* x, float* y, stretto_comm c,
                    const stretto_options* o) { return stretto_exscan(x, y, 1000, STRETTO_F32, STRETTO_SUM, c, o); }},
      {"allgather", [](int, float* x, float* y, stretto_comm c,
                       const stretto_options* o) { return stretto_allgather(x, y, 300, STRETTO_F32, c, o); }},
      {"bcast", [](int, float* x, float*, stretto_comm c,
                   const stretto_options* o) { return stretto_bcast(x, 1100, STRETTO_F32, 0, c, o); }},
      {"scatter", [](int, float* x, float* y, stretto_comm c,
                     const stretto_options* o) { return stretto_scatter(x, y, 300, STRETTO_F32, 0, c, o); }},
      {"scatterv",
       [](int rank, float* x, float* y, stretto_comm c, const stretto_options* o) {
         return stretto_scatterv(x, kCounts, nullptr, y, kCounts[rank], STRETTO_F32, 0, c, o);
       }},
      {"gather", [](int, float* x, float* y, stretto_comm c,
                    const stretto_options* o) { return stretto_gather(x, y, 300, STRETTO_F32, 0, c, o); }},
      {"alltoall", [](int, float* x, float* y, stretto_comm c,
                      const stretto_options* o) { return stretto_alltoall(x, y, 300, STRETTO_F32, c, o); }},
      {"alltoallv",
       [](int, float* x, float* y, stretto_comm c, const stretto_options* o) {
         return stretto_alltoallv(x, kSame, kDispls, y, kSame, kDispls, STRETTO_F32, c, o);
       }},
      {"allreduce_multi",
       [](int, float* x, float* y, stretto_comm c, const stretto_options* o) {
         const void* const all[] = {x, x + 300};
         return stretto_allreduce_multi(all, 2, y, 300, STRETTO_F32, STRETTO_SUM, c, o);
       }},
  };
  for (const auto& [name, collective] : kCalls) {
    SCOPED_TRACE(name);
    lacks_any_memory(name, [call = collective](stretto_comm comm, int rank) {
      return [=, x = wave(rank, 1100), y = std::vector<float>(1100)]() mutable {
        stretto_options o = patient();
        o.bound_kind = STRETTO_BOUND_ABSOLUTE;
        o.scope = STRETTO_SCOPE_CONTRIBUTION;
        o.bound = 1e-3;
        return call(rank, x.data(), y.data(), comm, &o);
      };
    });
  }
}

TEST(Alone, ACommunicatorOfThreadsIsMadeOnAllRanksOrOnNone) {
  std::atomic<bool> struck{true};
  int failed = 0;
  for (long n = 0; struck; ++n) {
    ASSERT_LT(n, 400);
    stretto_thread_group group = nullptr;
    ASSERT_STRETTO_OK(stretto_thread_group_create(kRanks, &group));
    std::atomic<int> made{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        stretto_comm comm = nullptr;
        stretto_status s = STRETTO_OK;
        if (rank == 1) {
          const Scarce scarce(n);
          s = stretto_comm_create_threads(group, rank, &comm);
          const Plenty plenty;
          struck = scarce.struck();
        } else {
          s = stretto_comm_create_threads(group, rank, &comm);
        }
        EXPECT_TRUE(s == STRETTO_OK || s == STRETTO_OUT_OF_MEMORY) << stretto_message();
        EXPECT_TRUE(s == STRETTO_OK || contains(stretto_message(), "memory")) << stretto_message();
        EXPECT_EQ(comm != nullptr, s == STRETTO_OK);
        made += s == STRETTO_OK ? 1 : 0;
        EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(made == 0 || made == kRanks) << made << " communicators, allocation " << n;
    failed += made == 0 ? 1 : 0;
    EXPECT_EQ(stretto_thread_group_free(group), STRETTO_OK);
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, 3);
}

TEST(Alone, ABufferOrAGroupWithoutMemoryIsRefused) {
  void* buffer = &buffer;
  stretto_thread_group group = nullptr;
  EXPECT_EQ(stretto_alloc(1, &buffer), STRETTO_OK);  // the arena, which is made once
  EXPECT_EQ(stretto_free(buffer), STRETTO_OK);
  {
    const Scarce scarce(0);
    EXPECT_EQ(stretto_thread_group_create(3, &group), STRETTO_OUT_OF_MEMORY);
  }
  EXPECT_EQ(group, nullptr);
  {
    const Scarce scarce(1);
    EXPECT_EQ(stretto_thread_group_create(3, &group), STRETTO_OUT_OF_MEMORY);
  }
  EXPECT_EQ(group, nullptr);
}
