#include "node/collectives/collectives.hpp"

#include <cfenv>

#include "../../sanitized.hpp"
#include "../cases.hpp"
#include "../ranks.hpp"

namespace stretto::node {
namespace {

using payload::Op;
using payload::Type;

// Small slots and switch points, so that short vectors take every protocol and many chunks.
Options small(bool mapped, bool kernel) {
  Options o;
  o.group.slot = 4096;
  o.eager = o.eager_reduce = 256;
  o.direct = 1024;
  o.kernel = kernel ? 1024 : ~std::size_t{0};
  o.memory.process = mapped;
  o.memory.arena = false;
  o.memory.xpmem = false;
  return o;
}

struct Memories {
  const char* name;
  bool mapped, kernel;
};
constexpr Memories kMemories[] = {{"mapped", true, false}, {"copyable", false, true}, {"staged", false, false}};

void run_cases(int ranks, const Options& options, bool rank_order) {
  on_collectives(ranks, options, [&](Collectives& c) {
    cases::Cases cases(c, {});
    cases.expect_rank_order(rank_order);
    for (const std::size_t n : {0, 1, 11, 12, 13, 200, 1000, 1024, 3333, 20011}) cases.all(n);
    EXPECT_EQ(cases.failures(), 0);
  });
}

class EachMemory : public testing::TestWithParam<Memories> {};
INSTANTIATE_TEST_SUITE_P(Collectives, EachMemory, testing::ValuesIn(kMemories),
                         [](const auto& i) { return i.param.name; });

TEST_P(EachMemory, CollectivesKeepTheirPromiseOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5, 9}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    run_cases(ranks, small(GetParam().mapped, GetParam().kernel), true);
  }
}

TEST_P(EachMemory, CollectivesKeepTheirPromiseOverUnevenNestedGroups) {
  Options options = small(GetParam().mapped, GetParam().kernel);
  const std::vector<std::vector<int>> labels{{0, 0, 1, 2, 2, 2, 3}, {0, 0, 0, 1, 1, 1, 1}};
  ASSERT_EQ(Hierarchy::from_labels(labels, 7, &options.hierarchy), Status::ok);
  run_cases(7, options, false);
}

TEST_P(EachMemory, GroupsMayHaveScatteredRanks) {
  Options options = small(GetParam().mapped, GetParam().kernel);
  ASSERT_EQ(Hierarchy::from_labels({{0, 1, 0, 1, 0}}, 5, &options.hierarchy), Status::ok);
  run_cases(5, options, false);
}

TEST(Collectives, ReproducibleSumsFollowRankOrderInAnyHierarchy) {
  Options options = small(false, false);
  options.reproducible = true;
  ASSERT_EQ(Hierarchy::from_labels({{0, 0, 1, 1, 1}}, 5, &options.hierarchy), Status::ok);
  run_cases(5, options, true);
}

// More ranks than one rank reads in turn.
TEST(Collectives, ManyRanksMeetThroughATree) {
  Options options = small(false, false);
  const std::vector<std::vector<int>> labels{{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6},
                                             {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2}};
  ASSERT_EQ(Hierarchy::from_labels(labels, 13, &options.hierarchy), Status::ok);
  on_collectives(13, options, [](Collectives& c) {
    cases::Cases cases(c, {});
    cases.expect_rank_order(false);
    for (int k = 0; k < 30; ++k) cases.barrier();
    for (const std::size_t n : {1, 13, 700}) cases.all(n);
    EXPECT_EQ(cases.failures(), 0);
  });
}

// Every type and operation equals the arithmetic in rank order.
TEST(Collectives, OperationsOnEveryTypeEqualTheArithmetic) {
  for (const int ranks : {2, 3})
    on_collectives(ranks, small(false, false), [ranks](Collectives& c) {
      for (int t = 0; t <= static_cast<int>(Type::i64_i32); ++t)
        for (int o = 0; o <= static_cast<int>(Op::maxloc); ++o) {
          const auto type = static_cast<Type>(t);
          const auto op = static_cast<Op>(o);
          const std::size_t size = payload::size_of(type);
          for (const std::size_t n : {2, 700}) {
            const auto input = [&](int rank) {
              std::vector<unsigned char> x(n * size);
              for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<unsigned char>((i * 5 + static_cast<std::size_t>(rank)) % 3);
              return x;
            };
            std::vector<unsigned char> out(n * size);
            const auto in = input(c.rank());
            const Status s = c.allreduce(in.data(), out.data(), n, type, {op});
            if (!payload::defined(op, type)) {
              EXPECT_EQ(s, Status::unsupported);
              continue;
            }
            ASSERT_EQ(s, Status::ok) << message();
            auto want = input(0);
            for (int r = 1; r < ranks; ++r) {
              const auto next = input(r);
              auto sum = want;
              ASSERT_EQ(payload::combine_values(op, type, want.data(), next.data(), sum.data(), n), Status::ok);
              want = sum;
            }
            // The four bytes after an index are unspecified.
            for (std::size_t i = 0; i < n && (type == Type::f64_i32 || type == Type::i64_i32); ++i)
              std::memset(&out[i * size + 12], 0, 4), std::memset(&want[i * size + 12], 0, 4);
            EXPECT_EQ(out, want) << payload::name(op) << " of " << payload::name(type);
          }
        }
    });
}

TEST(Collectives, AllRanksLearnOfADisagreement) {
  Options options = small(false, false);
  options.group.patience.limit = 20;
  on_collectives(3, options, [](Collectives& c) {
    float x[4] = {}, y[4] = {};
    ASSERT_EQ(c.barrier(), Status::ok);
    EXPECT_EQ(c.allreduce(x, y, c.rank() == 2 ? 3 : 4, Type::f32, {Op::sum}), Status::incompatible);
    EXPECT_NE(std::string(message()).find("bytes 12"), std::string::npos) << message();
    EXPECT_NE(std::string(message()).find("bytes 16"), std::string::npos) << message();
    EXPECT_EQ(c.barrier(), Status::incompatible);
  });
}

TEST(Collectives, InvalidArgumentsAreRefusedBeforeAnyTransfer) {
  on_collectives(2, small(false, false), [](Collectives& c) {
    float x = 1, y = 0;
    EXPECT_EQ(c.bcast(&x, 4, 2), Status::invalid_argument);
    EXPECT_EQ(c.reduce(&x, &y, 1, Type::f32, {Op::sum}, -1), Status::invalid_argument);
    EXPECT_EQ(c.allreduce(&x, &y, 1, Type::f32, {Op::user}), Status::invalid_argument);
    EXPECT_EQ(c.allreduce(&x, &y, 1, Type::f32, {Op::band}), Status::unsupported);
    EXPECT_EQ(c.barrier(), Status::ok);
  });
}

// 12 KB and 60 KB: the latter on the root alone.
TEST(Collectives, LongReductionsOnSharedCoresTakeOneRound) {
  Options options;
  options.memory.process = false;
  for (const int cores : {2, 3}) {
    options.group.cores = cores;
    on_collectives(3, options, [&](Collectives& c) {
      std::vector<double> x(7500), y(7500);
      for (const std::size_t n : {std::size_t{1500}, std::size_t{7500}}) {
        for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i) * c.rank();
        ASSERT_EQ(c.reduce(x.data(), y.data(), n, Type::f64, {Op::sum}, 1), Status::ok) << message();
        for (std::size_t i = 0; c.rank() == 1 && i < n; ++i) ASSERT_EQ(y[i], 3.0 * static_cast<double>(i));
        ASSERT_EQ(c.allreduce(x.data(), y.data(), n, Type::f64, {Op::sum}), Status::ok) << message();
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 3.0 * static_cast<double>(i));
      }
      EXPECT_EQ(c.counters().eager, cores < 3 ? 3u : 0u);
    });
  }
}

TEST(Collectives, ReductionHasAsFewChunksAsSlotsHold) {
  Options options;
  options.memory.process = options.memory.arena = options.memory.xpmem = false;
  options.group.cores = 2;
  on_collectives(2, options, [](Collectives& c) {
    c.use(Stores::plain);
    std::vector<float> first(2097152);  // after 8 MiB no call uses new pages
    ASSERT_EQ(c.allreduce(nullptr, first.data(), first.size(), Type::f32, {Op::sum}), Status::ok) << message();
    // 64 KiB of a slot, and all of its 128 KiB for 2 MiB and more, hold a chunk: the half that its rank adds replaces
    // that rank's input.
    constexpr struct {
      std::size_t floats;
      std::uint64_t chunks;
    } lengths[] = {{8192, 1}, {16384, 1}, {16385, 2}, {32768, 2}, {32784, 3}, {262144, 16}, {524288, 16}};
    for (const auto [floats, chunks] : lengths) {
      std::vector<float> x(floats), y(floats);
      for (std::size_t i = 0; i < floats; ++i) x[i] = static_cast<float>(i) + static_cast<float>(c.rank());
      const std::uint64_t before = c.group().rounds(0);
      ASSERT_EQ(c.allreduce(x.data(), y.data(), floats, Type::f32, {Op::sum}), Status::ok) << message();
      EXPECT_EQ(c.group().rounds(0) - before, chunks + 2) << floats;
      for (std::size_t i = 0; i < floats; ++i) ASSERT_EQ(y[i], static_cast<float>(2 * i + 1)) << floats;
    }
  });
}

// The eighth call of 4 MiB has trials before it. Their times decide about stores, not about values or later rounds.
TEST(Collectives, StoresAreTriedAlsoWhereRanksShareCores) {
  for (const int cores : {1, 2}) {
    SCOPED_TRACE(cores);
    Options options;
    options.memory.process = options.memory.arena = options.memory.xpmem = false;
    options.group.cores = cores;
    options.group.slot = 128 * 1024;
    on_collectives(2, options, [](Collectives& c) {
      std::vector<float> x(1048576);
      const auto rounds_of_a_call = [&] {
        std::fill(x.begin(), x.end(), 1.0f);
        const std::uint64_t before = c.group().rounds(0);
        EXPECT_EQ(c.allreduce(nullptr, x.data(), x.size(), Type::f32, {Op::sum}), Status::ok) << message();
        EXPECT_EQ(std::count(x.begin(), x.end(), 2.0f), 1048576);
        return c.group().rounds(0) - before;
      };
      for (int call = 1; call < 7; ++call) rounds_of_a_call();  // the first use few pages
      const std::uint64_t usual = rounds_of_a_call();
      EXPECT_GT(rounds_of_a_call(), usual);
      EXPECT_EQ(rounds_of_a_call(), usual);
    });
  }
}

TEST(Collectives, FewerRanksHaveLongerSlots) {
  EXPECT_EQ(slot_for(1), 1024u * 1024);
  EXPECT_EQ(slot_for(2), 1024u * 1024);
  EXPECT_EQ(slot_for(5) % kLine, 0u);
  for (int ranks = 2; ranks < 40; ++ranks) EXPECT_LE(slot_for(ranks + 1), slot_for(ranks)) << ranks;
  EXPECT_EQ(slot_for(16), 128u * 1024);
  EXPECT_EQ(slot_for(1000), 128u * 1024);
}

// 4 MiB of two ranks are sixteen chunks in slots of 256 KiB. A started call keeps to 128 KiB of them.
TEST(Collectives, StartedReductionsHaveShorterChunks) {
  Options options;
  options.memory.process = options.memory.arena = options.memory.xpmem = false;
  options.group.cores = 2;
  options.group.slot = 256 * 1024;
  on_collectives(2, options, [](Collectives& c) {
    c.use(Stores::plain);
    const std::unique_ptr<Collectives> started = c.beside();
    std::vector<float> first(4194304), x(1048576);  // after 16 MiB calls use whole slots
    for (Collectives* const each : {&c, started.get()}) {
      ASSERT_EQ(each->allreduce(nullptr, first.data(), first.size(), Type::f32, {Op::sum}), Status::ok) << message();
      std::fill(x.begin(), x.end(), 1.0f);
      const std::uint64_t before = each->group().rounds(0);
      ASSERT_EQ(each->allreduce(nullptr, x.data(), x.size(), Type::f32, {Op::sum}), Status::ok) << message();
      EXPECT_EQ(each->group().rounds(0) - before, each == &c ? 16u + 2 : 32u + 2);
      EXPECT_EQ(std::count(x.begin(), x.end(), 2.0f), 1048576);
    }
  });
}

TEST(Collectives, RoundingModesDoNotChangeChunks) {
  Options options;
  options.memory.process = options.memory.arena = options.memory.xpmem = options.memory.kernel = false;
  options.group.slot = 65536;
  // The first lengths would have one chunk if a fraction were rounded to the nearest.
  constexpr struct {
    int ranks;
    std::size_t bytes;
  } lengths[] = {{5, 54400}, {5, 200000}, {11, 59840}};
  for (const auto [ranks, bytes] : lengths)
    on_collectives(ranks, options, [bytes = bytes](Collectives& c) {
      constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
      const std::vector<std::uint8_t> x(bytes, static_cast<std::uint8_t>(c.rank()));
      std::vector<std::uint8_t> y(bytes);
      std::fesetround(modes[c.rank() % 4]);
      const Status s = c.allreduce(x.data(), y.data(), bytes, Type::u8, {Op::sum});
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(s, Status::ok) << message();
      EXPECT_EQ(y, std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(c.size() * (c.size() - 1) / 2)));
    });
}

TEST(Collectives, CopyingSideMattersForLongPrivateBlocks) {
  on_collectives(2, small(false, false), [&](Collectives& c) {
    EXPECT_EQ(c.copies_differ(1024), c.memory().usable(Access::kernel));
    EXPECT_FALSE(c.copies_differ(1023));
  });
}

TEST(Collectives, KernelCopiesShortBlocksPerReaderOnSharedCores) {
  Options options = small(false, false);
  options.kernel = 4096;
  for (const int cores : {2, 3}) {
    options.group.cores = cores;
    on_collectives(3, options, [&](Collectives& c) {
      if (!c.memory().usable(Access::kernel)) return;
      cases::Cases cases(c, {});
      cases.allgather(1024, false);
      EXPECT_EQ(c.counters().copyable, 0u);
      cases.alltoall(1024, false);
      EXPECT_EQ(c.counters().copyable, cores < 3 ? 1u : 0u);
      EXPECT_EQ(cases.failures(), 0);
    });
  }
}

// With streaming stores. Under a sanitizer only a move and a reduction of staged memory: checking every value takes
// minutes there, and the other test of streaming stores has all collectives.
TEST(Collectives, LongResultsAreComplete) {
  for (const bool mapped : {true, false}) {
    if (kSanitized && mapped) continue;
    Options options;
    options.memory.process = mapped;
    options.memory.arena = options.memory.xpmem = options.memory.kernel = false;
    on_collectives(2, options, [](Collectives& c) {
      cases::Cases cases(c, {});
      constexpr std::size_t bytes = kMovedByCaches + 37, floats = kReduced / sizeof(float) + 3;
      cases.bcast(bytes, 1);
      cases.reduce(floats, 1, false);
      if (!kSanitized) {
        cases.allgather(bytes, false);
        cases.alltoall(bytes, false);
        for (const bool in_place : {false, true}) cases.allreduce(floats, in_place);
        cases.reduce_scatter(floats, false);
      }
      EXPECT_EQ(cases.failures(), 0);
    });
  }
}

// Two ranks whose inputs are staged get results back in the slots that brought them, unless stores pass by the caches.
TEST(Collectives, TwoRanksReduceThroughSlotsWithEitherStores) {
  for (const auto& [stores, cores] : {std::pair(Stores::plain, 2), {Stores::streaming, 2}, {Stores::streaming, 1}}) {
    SCOPED_TRACE(testing::Message() << name(stores) << " on " << cores << " cores");
    Options options = small(false, false);
    options.group.cores = cores;
    on_collectives(2, options, [&, stores = stores](Collectives& c) {
      c.use(stores);
      cases::Cases cases(c, {});
      for (const std::size_t n : {64, 65, 1000, 3333, 20011}) cases.all(n);
      EXPECT_EQ(cases.failures(), 0);
      std::vector<float> x(5000, 1), y(5000);
      const std::uint64_t before = c.counters().lent;
      ASSERT_EQ(c.allreduce(x.data(), y.data(), x.size(), Type::f32, {Op::sum}), Status::ok);
      EXPECT_EQ(c.counters().lent - before, stores == Stores::plain ? 1u : 0u);
    });
  }
}

TEST(Collectives, SharedBuffersAreUsedInPlace) {
  for (const auto& m : kMemories) {
    Options options = small(m.mapped, m.kernel);
    on_collectives(2, options, [&](Collectives& c) {
      std::vector<float> x(5000, 1), y(5000);
      ASSERT_EQ(c.allreduce(x.data(), y.data(), x.size(), Type::f32, {Op::sum}), Status::ok);
      // Reductions leave nothing to the kernel.
      Counters n = c.counters();
      EXPECT_EQ(n.mapped, m.mapped ? 1u : 0u) << m.name;
      EXPECT_EQ(n.copyable, 0u) << m.name;
      EXPECT_EQ(n.staged, m.mapped ? 0u : 1u) << m.name;
      std::vector<float> both(2 * x.size());
      ASSERT_EQ(c.allgather(x.data(), both.data(), x.size() * sizeof(float)), Status::ok);
      n = c.counters();
      EXPECT_EQ(n.mapped, m.mapped ? 2u : 0u) << m.name;
      EXPECT_EQ(n.copyable, m.kernel ? 1u : 0u) << m.name;
      EXPECT_EQ(n.staged, m.mapped ? 0u : m.kernel ? 1u : 2u) << m.name;
    });
  }
}

}  // namespace
}  // namespace stretto::node
