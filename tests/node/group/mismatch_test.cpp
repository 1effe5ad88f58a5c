// Ranks with different calls all soon get an error with the first differing call and the difference: also if each only
// sends, so that no rank reads the others' lines, and if each only receives.
#include <array>
#include <cstring>
#include <string>

#include "../ranks.hpp"
#include "node/collectives/bounded.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

constexpr int kGood = 70;  // calls before that in which ranks differ: the ring has turned

Options options_of(MemoryOptions memory = {}) {
  Options options;
  options.group.slot = 4096;
  options.group.patience.limit = 60;
  options.memory = memory;
  return options;
}

void meet(Collectives& c, int calls) {
  for (int call = 0; call < calls; ++call) {
    std::uint32_t in = 1, out = 0;
    ASSERT_EQ(c.allreduce(&in, &out, 1, payload::Type::u32, {payload::Op::sum}), Status::ok) << message();
    ASSERT_EQ(out, static_cast<std::uint32_t>(c.size()));
  }
}

void expect_told(const std::string& text) {
  const std::string why = message();
  EXPECT_NE(why.find(text), std::string::npos) << "message: " << why << "\nwants: " << text;
}

// Calls until one fails; how many did not.
template <class Step>
int calls_until_told(const Step& step) {
  Status s = Status::ok;
  int good = -1;
  for (; s == Status::ok && good < 100000; ++good) s = step();
  EXPECT_EQ(s, Status::incompatible) << message();
  return good;
}

// The word holds half of the rounds' bits; a nearby number determines the rest.
TEST(DoneWord, TellsRoundsWithinHalfOfItsReach) {
  constexpr std::uint64_t half = std::uint64_t{1} << 31;
  const std::uint32_t token = Done::token(5, 0x123456789abcdef0u);
  for (const std::uint64_t rounds : {std::uint64_t{0}, half - 1, half, 2 * half - 1, 2 * half, 5 * half + 7})
    for (const std::int64_t away : {std::int64_t{0}, std::int64_t{-64}, std::int64_t{64},
                                    std::int64_t{1} - std::int64_t{half}, std::int64_t{half} - 1}) {
      const std::uint64_t near = rounds + static_cast<std::uint64_t>(away);
      if (away < 0 && rounds < static_cast<std::uint64_t>(-away)) continue;
      EXPECT_EQ(Done::rounds_of(Done::word(rounds, token), near), rounds) << rounds << " seen from " << near;
      EXPECT_EQ(Done::token_of(Done::word(rounds, token)), token);
    }
  EXPECT_EQ(token & Done::kCallBits, 5u);
  EXPECT_NE(token, Done::token(5, 0x223456789abcdef0u));
  EXPECT_NE(token, Done::token(6, 0x123456789abcdef0u));
}

TEST(Mismatch, MessagesHaveTheNumbersThatTheRanksAreGiven) {
  constexpr std::array<std::int32_t, 3> numbers{4, 9, 11};
  Options options = options_of();
  options.group.numbers = numbers;
  on_collectives(3, options, [](Collectives& c) {
    meet(c, kGood);
    std::uint32_t in = 0, out = 0;
    const payload::Type type = c.rank() == 1 ? payload::Type::f32 : payload::Type::u32;
    EXPECT_EQ(c.allreduce(&in, &out, 1, type, {payload::Op::sum}), Status::incompatible);
    expect_told("rank 9 allreduce");
    const std::string why = message();
    EXPECT_TRUE(why.find("rank 4 allreduce") != why.npos || why.find("rank 11 allreduce") != why.npos) << why;
  });
}

// In slots and in mapped memory.
template <class Body>
void on_ranks_with_either_memory(const Body& body) {
  for (const int ranks : {2, 3, 5})
    for (const bool mapped : {true, false})
      on_collectives(ranks, options_of({.process = mapped}), [&](Collectives& c) {
        meet(c, kGood);
        body(c);
      });
}

class OnlyGiving : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, OnlyGiving, testing::Values(1, 8, 1000, 4000, 20000));

TEST_P(OnlyGiving, ToDifferentRootsIsFoundWithinOneRing) {
  const std::size_t bytes = GetParam();
  on_ranks_with_either_memory([&](Collectives& c) {
    const std::vector<std::byte> in(bytes);
    const int root = (c.rank() + 1) % c.size();
    EXPECT_LE(calls_until_told([&] { return c.gather(in.data(), nullptr, bytes, root); }), int{kLines});
    expect_told(fmt::format("ranks call differently in collective {} (root): ", kGood + 1));
  });
}

TEST_P(OnlyGiving, AsDifferentRootsIsFoundWithinOneRing) {
  const std::size_t bytes = GetParam();
  on_ranks_with_either_memory([&](Collectives& c) {
    std::vector<std::byte> data(bytes);
    EXPECT_LE(calls_until_told([&] { return c.bcast(data.data(), bytes, c.rank()); }), int{kLines});
    expect_told(fmt::format("ranks call differently in collective {} (root): ", kGood + 1));
    expect_told(fmt::format("bcast (bytes {}, root ", bytes));
  });
}

TEST(Mismatch, OfOneSendingRankIsReportedToAll) {
  for (const int ranks : {3, 5})
    on_collectives(ranks, options_of(), [&](Collectives& c) {
      meet(c, kGood);
      std::uint64_t data = 0;
      const int root = c.rank() == 1 ? 1 : 0;
      EXPECT_LE(calls_until_told([&] { return c.bcast(&data, sizeof data, root); }), 2 * int{kLines});
      expect_told(fmt::format("in collective {} (root): ", kGood + 1));
      expect_told("rank 1 bcast (bytes 8, root 1)");
      EXPECT_EQ(c.barrier(), Status::incompatible) << "a group in which a call failed stays failed";
    });
}

TEST(Mismatch, OfSendingRanksIsFoundInTheNextSynchronisingCall) {
  for (const int ranks : {2, 3, 5})
    on_collectives(ranks, options_of(), [&](Collectives& c) {
      meet(c, 3);
      std::uint64_t data = 0;
      Status s = c.bcast(&data, sizeof data, c.rank());
      if (s == Status::ok) s = c.barrier();  // a rank that comes late: others know already
      EXPECT_EQ(s, Status::incompatible);
      expect_told("in collective 4 (root): ");
      expect_told("learnt it in its collective 5");
    });
}

// Nobody publishes anything, so there is no line to compare.
TEST(Mismatch, OfRanksInDeadlockIsFoundBeforeTheLimit) {
  for (const int ranks : {2, 3, 5})
    on_collectives(ranks, options_of(), [&](Collectives& c) {
      meet(c, 2);
      std::uint64_t data = 0;
      EXPECT_EQ(c.bcast(&data, sizeof data, (c.rank() + 1) % ranks), Status::incompatible);
      expect_told("in collective 3 (root): ");
    });
}

TEST(Mismatch, NamesTheDifference) {
  using payload::Op, payload::Type;
  struct Different {
    Status (*call)(Collectives& c, const void* in, void* out, bool odd);
    const char* told;
  };
  const Different all[] = {
      {[](Collectives& c, const void* in, void* out, bool odd) {
         return odd ? c.allgather(in, out, 8) : c.alltoall(in, out, 8);
       },
       "(collective)"},
      {[](Collectives& c, const void* in, void* out, bool odd) {
         return c.allreduce(in, out, 1, Type::u64, {odd ? Op::sum : Op::max});
       },
       "(operation)"},
      {[](Collectives& c, const void* in, void* out, bool odd) {
         return c.allreduce(in, out, 1, odd ? Type::i64 : Type::u64, {});
       },
       "(type)"},
      {[](Collectives& c, const void* in, void* out, bool odd) {
         return c.allreduce(in, out, 1, odd ? Type::f32 : Type::u64, {});
       },
       "(bytes and type)"},
      {[](Collectives& c, const void* in, void* out, bool odd) {
         return c.reduce(in, out, odd ? 2 : 1, Type::u64, {}, odd ? 2 : 1);
       },
       "(bytes and root)"},
  };
  for (const Different& d : all)
    on_collectives(3, options_of(), [&](Collectives& c) {
      const std::uint64_t in[3] = {};
      std::uint64_t out[3] = {};
      calls_until_told([&] { return d.call(c, in, out, c.rank() == 1); });
      expect_told(fmt::format("in collective 1 {}: ", d.told));
    });
}

TEST(Mismatch, OfBoundsAndMagnitudesIsNamed) {
  Options options = options_of();
  options.group.slot = 32768;
  for (const bool bound : {true, false})
    on_collectives(3, options, [&](Collectives& c) {
      Bounded bounded(c.group());
      std::vector<float> in(9000, 1), out(9000);
      BoundedCall call{Collective::allreduce, in.data(), out.data(), in.size(), 0, {}};
      call.spec.kind = payload::Kind::fused;
      call.spec.eps = bound && c.rank() == 2 ? 1e-2 : 1e-3;
      call.spec.magnitude = !bound && c.rank() == 2 ? 4 : 2;
      StreamCounts streamed;
      EXPECT_EQ(bounded.run(call, &streamed), Status::incompatible);
      expect_told(bound ? "(eps): " : "(magnitude): ");
      expect_told(bound ? "eps 0.01, magnitude 2)" : "eps 0.001, magnitude 4)");
    });
}

// More of them than a call's number has digits in a token (Group::token).
TEST(Mismatch, OfEmptyCallsIsIgnoredForAnyNumberOfCalls) {
  on_collectives(3, options_of(), [](Collectives& c) {
    const auto nothing = [&](int calls) {
      for (int call = 0; call < calls; ++call) ASSERT_EQ(c.bcast(nullptr, 0, c.rank()), Status::ok);
    };
    std::uint64_t data = 0;
    for (const int calls : {1, 100, 65536 - 2 * int{kLines} - 7, 65536}) {
      nothing(calls);
      for (int call = 0; call < 3 * int{kLines}; ++call) {
        if (c.rank() == 0) data = 42;
        ASSERT_EQ(c.bcast(&data, sizeof data, 0), Status::ok) << message();
        ASSERT_EQ(data, 42);
      }
    }
  });
}

TEST(Mismatch, ThatBeganTooLongAgoIsReportedWithoutTheCall) {
  on_collectives(3, options_of(), [](Collectives& c) {
    std::uint64_t data = 0;
    Status s = c.bcast(&data, sizeof data, c.rank());
    for (int call = 0; s == Status::ok && call < 2 * int{kCalls}; ++call) s = c.bcast(nullptr, 0, 0);
    if (s == Status::ok) s = c.barrier();  // a rank that comes late: others know already
    EXPECT_EQ(s, Status::incompatible);
    expect_told("what the calls were is not known any more");
  });
}

}  // namespace
}  // namespace stretto::node
