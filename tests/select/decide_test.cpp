// What is chosen when nothing is forced, and how it is cut.
#include "select/decide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "call/enums.hpp"
#include "schedule/registry.hpp"
#include "select/forced.hpp"

using namespace stretto;
using namespace stretto::call;
using namespace stretto::select;

namespace {

Call allreduce(std::size_t count, double bound = 0, stretto_scope scope = STRETTO_SCOPE_CONTRIBUTION) {
  static float somewhere[2];
  Call c;
  c.collective = Collective::allreduce;
  c.send = &somewhere[0];
  c.recv = &somewhere[1];
  c.count = count;
  c.type = STRETTO_F32;
  c.settings.options.bound_kind = bound > 0 ? STRETTO_BOUND_ABSOLUTE : STRETTO_BOUND_NONE;
  c.settings.options.bound = bound;
  c.settings.options.scope = scope;
  return c;
}

constexpr std::size_t kib = 1024;

// The choice of a call that runs with it, and the trial whose turn it takes.
Choice run(Choices& choices, const Call& c, std::size_t bytes, Streaming streaming, double ratio, Served served,
           Trial* trial) {
  Turn turn;
  const Choice now = choices.look(c, bytes, streaming, ratio, served, &turn);
  choices.begin(turn);
  *trial = turn.trial;
  return now;
}

Choices on_hosts(int ranks, int per_host) {
  return Choices(std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(ranks, per_host)));
}

}  // namespace

TEST(Choices, ARepeatedQuestionHasTheSameAnswerAndEveryCollectiveHasOne) {
  for (int i = 0; i < schedule::collectives; ++i)
    for (std::size_t bytes : {std::size_t{0}, 40 * kib, 5000 * kib})
      for (int ranks : {1, 2, 7}) {
        Choices choices = on_hosts(ranks, 3);
        Call c;
        c.collective = static_cast<Collective>(i);
        const Choice first = choices.choose(c, bytes, {false}, 1, {false});
        EXPECT_EQ(first.provider, Provider::schedules);
        EXPECT_NE(schedule::find(schedule::family(c.collective), first.schedule), nullptr) << first.schedule;
        EXPECT_EQ(choices.choose(c, bytes, {false}, 1, {false}).schedule, first.schedule);
      }
}

TEST(Choices, ANodesStreamsAreForcedByScheduleAndPayloadTogether) {
  Choices choices = on_hosts(4, 4);
  Call c = allreduce(10000, 1e-3);
  const Served all{true, true, true};
  c.settings.schedule = "node";
  EXPECT_EQ(choices.choose(c, 40000, {false}, 1, all).payload, payload::Kind::raw);
  for (const auto& [forced, kind] : {std::pair(STRETTO_PAYLOAD_FUSED, payload::Kind::fused),
                                     {STRETTO_PAYLOAD_HOMOMORPHIC, payload::Kind::homomorphic}}) {
    c.settings.options.payload = forced;
    const Choice choice = choices.choose(c, 40000, {true}, 4, all);
    EXPECT_NE(choice.provider, Provider::schedules);
    EXPECT_EQ(choice.provider, Provider::node);
    EXPECT_EQ(choice.payload, kind);
    EXPECT_EQ(choices.choose(c, 40000, {false}, 1, all).payload, payload::Kind::raw);  // only exact values will do
  }
  c.settings.schedule.clear();
  EXPECT_EQ(choices.choose(c, 40000, {true}, 4, Served{true, true}).provider, Provider::schedules);  // no streams there
}

TEST(Choices, EachHasItsReason) {
  Choices choices = on_hosts(4, 2);
  Call c = allreduce(1000);
  const Choice native = choices.choose(c, 4000, {false}, 1, {true});
  EXPECT_EQ(native.why.reason, Reason::predicted);
  EXPECT_GT(native.why.mpi, 0);
  EXPECT_EQ(native.why.seconds, native.why.mpi);
  const Choice alone = choices.choose(c, 4000, {false}, 1, {false});
  EXPECT_EQ(alone.why.reason, Reason::alone);
  EXPECT_EQ(alone.why.mpi, 0);
  for (const char* schedule : {"ring", "native", "node"}) {
    c.settings.schedule = schedule;
    EXPECT_EQ(choices.choose(c, 4000, {false}, 1, Served{true, true}).why.reason, Reason::forced) << schedule;
  }
}

TEST(Choices, StreamsAreForLargeVectorsOverANetworkAndNativeForWhatGainsNothing) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(1, 1e-3);
  EXPECT_NE(choices.choose(c, 8, {true}, best_ratio, {true}).provider, Provider::schedules);
  const Choice large = choices.choose(c, 64 * kib * kib, {true}, 8, {true});
  EXPECT_EQ(large.provider, Provider::schedules);
  EXPECT_NE(large.payload, payload::Kind::raw);
}

// However slow the native collective was measured to be.
TEST(Choices, NoScheduleIsTakenForVectorsThatAreNotTried) {
  model::Profile slow = model::built_in();
  slow.natives.push_back({schedule::Collective::allreduce, 4, 4, {{8, 1.0}, {1e6, 1.0}}, model::Provider::mpi});
  Choices choices(std::make_shared<SharedChooser>(std::move(slow), topology::Topology::regular(4, 1)));
  EXPECT_NE(choices.choose(allreduce(256), kib, {false}, 1, {true}).provider, Provider::schedules);
  EXPECT_EQ(choices.choose(allreduce(256), kib, {false}, 1, {false}).provider, Provider::schedules);  // there is none
  EXPECT_EQ(choices.choose(allreduce(2 * 256), 2 * kib, {false}, 1, {true}).provider, Provider::schedules);
}

// Ranks need not ask for reports alike.
TEST(Choices, AReportOnOneRankChangesNeitherChoicesNorTrials) {
  for (const std::size_t bytes : {kib / 2, kib, 4 * kib * kib})
    for (const Served served : {Served{true, false}, Served{true, true}, Served{false, false}}) {
      Choices silent = on_hosts(4, served.node ? 4 : 1), told = on_hosts(4, served.node ? 4 : 1);
      stretto_report report = STRETTO_REPORT_INIT;
      for (int k = 0; k < 60; ++k) {
        Call c = allreduce(bytes / 4, bytes > kib ? 1e-3 : 0);
        Trial ours = 0, theirs = 0;
        const Choice without = run(silent, c, bytes, {bytes > kib}, 8, served, &ours);
        if (k % 7 == 0) c.settings.options.report = &report;
        const Choice with = run(told, c, bytes, {bytes > kib}, 8, served, &theirs);
        ASSERT_EQ(ours, theirs) << bytes << " B, call " << k;
        EXPECT_EQ(without.provider, with.provider) << bytes << " B, call " << k;
        EXPECT_EQ(without.schedule, with.schedule) << bytes << " B, call " << k;
        EXPECT_EQ(without.why.reason, with.why.reason) << bytes << " B, call " << k;
        EXPECT_TRUE(k % 7 != 0 || with.why.seconds > 0) << bytes << " B, call " << k;
        ASSERT_EQ(silent.took(ours, 1e-4), told.took(theirs, 1e-4)) << bytes << " B, call " << k;
      }
    }
}

TEST(Choices, WhatIsCloseIsTriedAndTheFastestOnTheSlowestRankStays) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  const auto choose = [&](Trial* trial) { return run(choices, c, 4 * kib * kib, {true}, 8, {true}, trial); };
  Trial trial = 0;
  choose(&trial);
  EXPECT_EQ(trial, 0u);                                     // a shape that came once
  EXPECT_NE(choose(&trial).provider, Provider::schedules);  // the first of the candidates
  ASSERT_NE(trial, 0u);
  EXPECT_TRUE(choices.may_stream(c, 4 * kib * kib, 8, {true}));
  std::vector<std::string> order;  // in which they came, each once: the first round is in the order of the candidates
  std::vector<double> slowest;
  for (int looks = 0; looks < 3;) {  // after the first round, which warms up, after three more, and after the last
    ASSERT_LT(order.size(), 100u);
    const Choice now = choose(&trial);
    const std::string name = now.provider != Provider::schedules ? "native" : now.schedule + payload::name(now.payload);
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    if (!choices.took(trial, 1e-4)) continue;
    slowest = choices.times(trial);
    if (++looks < 3) choices.settle(trial, slowest);
  }
  ASSERT_GE(order.size(), 2u);
  ASSERT_EQ(slowest.size(), Autotuner::most_rounds * order.size());
  // Another rank was slow in all but the second.
  for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = i / Autotuner::most_rounds == 1 ? 1 : 50;
  choices.settle(trial, slowest);
  const Choice found = choose(&trial);
  EXPECT_EQ(trial, 0u);
  EXPECT_EQ(found.schedule + payload::name(found.payload), order[1]);
  // What a started call would run with does not depend on trials.
  Choices fresh = on_hosts(4, 1);
  EXPECT_EQ(choices.choose(c, 4 * kib * kib, {true}, 8, {true}).schedule,
            fresh.choose(c, 4 * kib * kib, {true}, 8, {true}).schedule);
}

TEST(Choices, HowANodeCopiesIsTriedWhereItMakesADifference) {
  model::Profile p = model::built_in();
  p.natives = {{schedule::Collective::allgather, 4, 1, {{1024, 1.1e-8}}, model::Provider::mpi},
               {schedule::Collective::allgather, 4, 1, {{1024, 1e-8}}, model::Provider::node}};
  for (const bool otherwise : {false, true}) {
    Choices choices(std::make_shared<SharedChooser>(p, topology::Topology::regular(4, 4)));
    Call c = allreduce(kib * kib);
    c.collective = Collective::allgather;
    std::set<std::pair<Provider, bool>> tried;
    for (int k = 0; k < 20; ++k) {
      Trial trial = 0;
      const Choice now = run(choices, c, 4 * kib * kib, {false}, 1, Served{true, true, false, otherwise}, &trial);
      if (now.provider != Provider::schedules) tried.emplace(now.provider, now.other_copy);
      if (trial != 0) choices.took(trial, 1e-3);
    }
    EXPECT_TRUE(tried.contains({Provider::mpi, false}));
    EXPECT_TRUE(tried.contains({Provider::node, false}));
    EXPECT_EQ(tried.contains({Provider::node, true}), otherwise);
    EXPECT_FALSE(tried.contains({Provider::mpi, true}));
  }
}

TEST(Choices, ShortCallsAreTriedWhereItMakesADifferenceHowANodeCopies) {
  for (const double seconds : {3e-6, 6e-6, 11e-6}) {
    model::Profile p = model::built_in();
    p.natives = {{schedule::Collective::allgather, 4, 1, {{64 * kib, 1.1 * seconds}}, model::Provider::mpi},
                 {schedule::Collective::allgather, 4, 1, {{64 * kib, seconds}}, model::Provider::node}};
    for (const bool otherwise : {false, true}) {
      Choices choices(std::make_shared<SharedChooser>(p, topology::Topology::regular(4, 4)));
      Call c = allreduce(4 * kib);
      c.collective = Collective::allgather;
      Trial trial = 0;
      for (int k = 0; k < 2; ++k) run(choices, c, 64 * kib, {false}, 1, Served{true, true, false, otherwise}, &trial);
      EXPECT_EQ(trial != 0, seconds > (otherwise ? 4e-6 : 10e-6)) << seconds << (otherwise ? " of two ways" : "");
    }
  }
}

TEST(Choices, ATrialIsOfAllLengthsOfItsCellAndWhenSettledNeedsNoModel) {
  const auto shared = std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(4, 1));
  Choices choices(shared);
  const Call c = allreduce(kib * kib, 1e-3);
  constexpr std::size_t bytes = 4 * kib * kib;
  const auto turn = [&](std::size_t length, Trial* trial) { return run(choices, c, length, {true}, 8, {true}, trial); };
  Trial trial = 0, other = 0;
  turn(bytes, &trial);
  turn(bytes + 4, &trial);
  ASSERT_NE(trial, 0u);
  turn(bytes * 17 / 16, &other);
  EXPECT_EQ(other, 0u);  // another cell
  for (int call = 0; trial != 0 && call < 200; ++call) {
    const Choice now = turn(bytes + static_cast<std::size_t>(call % 24), &trial);
    if (trial != 0 && choices.took(trial, now.provider != Provider::schedules ? 5 : 1))
      choices.settle(trial, choices.times(trial));
  }
  const Choice found = turn(bytes, &trial);
  EXPECT_EQ(trial, 0u);
  EXPECT_EQ(found.provider, Provider::schedules);
  shared->chooser = model::Chooser(model::built_in(), topology::Topology::regular(4, 4));
  for (std::size_t k = 0; k < 5000; ++k)  // more than are kept at hand
    static_cast<void>(choices.choose(allreduce(1), k * 61, {false}, 1, {false}));
  EXPECT_EQ(turn(bytes + 8, &trial).schedule, found.schedule);
  EXPECT_EQ(trial, 0u);
  EXPECT_EQ(choices.may_stream(c, bytes + 8, 8, {true}), found.payload != payload::Kind::raw);
}

TEST(Choices, OnlyACallThatRunsCountsAsTheFirstOfItsShape) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  Turn turn;
  const auto look = [&] { static_cast<void>(choices.look(c, 4 * kib * kib, {true}, 8, {true}, &turn)); };
  for (int again = 0; again < 3; ++again) {
    look();
    EXPECT_EQ(turn.trial, 0u);
    EXPECT_NE(turn.first, 0u);
  }
  choices.begin(turn);
  look();
  EXPECT_NE(turn.trial, 0u);
  EXPECT_EQ(turn.first, 0u);
}

TEST(Choices, WhatATrialCameToIsTriedAgain) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  // Calls until one is a trial's, or is none's.
  const auto until = [&](bool wanted) {
    for (std::size_t calls = 1; calls < 20000; ++calls) {
      Trial trial = 0;
      const Choice now = run(choices, c, 4 * kib * kib, {true}, 8, {true}, &trial);
      const double took = now.provider != Provider::schedules ? 5 : 1;
      if (trial != 0 && choices.took(trial, took)) choices.settle(trial, choices.times(trial));
      if ((trial != 0) == wanted) return calls;
    }
    return std::size_t{0};
  };
  for (const bool wanted : {true, false, true, false}) EXPECT_GT(until(wanted), 0u);
}

TEST(Choices, AShapeThatIsLookedAtButDoesNotRunChangesNoTrial) {
  Choices looked = on_hosts(4, 1), plain = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  Trial trial = 0;
  const auto turn = [&](Choices& choices) {
    const Choice now = run(choices, c, 4 * kib * kib, {true}, 8, {true}, &trial);
    return now.provider != Provider::schedules ? std::string("native") : now.schedule + payload::name(now.payload);
  };
  for (int i = 0; i < 5; ++i) {
    // Hundreds of other shapes, more than are kept at hand, on one rank only.
    Turn other;
    for (std::size_t k = 1; k < 300; k += 7)
      static_cast<void>(looked.look(allreduce(k * kib, 1e-3), 4 * k * kib, {true}, 8, {true}, &other));
    EXPECT_EQ(turn(looked), turn(plain));
    EXPECT_EQ(trial != 0, i > 0);
    EXPECT_FALSE(looked.took(trial, 1));
    EXPECT_FALSE(plain.took(trial, i == 2 ? std::numeric_limits<double>::infinity() : 1));  // a turn that failed there
  }
}

TEST(Choices, NothingIsTriedThatIsForcedOrWouldChangeBitsOrIsShort) {
  Choices choices = on_hosts(4, 1);
  const auto trial_of = [&](const Call& c, std::size_t bytes, bool compress) {
    Trial trial = 0;
    for (int again = 0; again < 2; ++again) static_cast<void>(run(choices, c, bytes, {compress}, 8, {true}, &trial));
    return trial;
  };
  const Call bounded = allreduce(kib * kib, 1e-3), exact = allreduce(kib * kib);
  EXPECT_NE(trial_of(bounded, 4 * kib * kib, true), 0u);
  choices = on_hosts(4, 4);
  EXPECT_EQ(trial_of(bounded, 8, true), 0u);
  choices = on_hosts(4, 1);
  EXPECT_EQ(trial_of(exact, 4 * kib * kib, false), 0u);
  Call integers = bounded;
  integers.type = STRETTO_I32;
  EXPECT_EQ(trial_of(integers, 4 * kib * kib, true), 0u);
  // What two ranks add is rounded once, whoever adds it; not so smaller floats, which are rounded again.
  choices = on_hosts(2, 1);
  EXPECT_NE(trial_of(exact, 4 * kib * kib, false), 0u);
  Call small = exact;
  small.type = STRETTO_BF16;
  EXPECT_EQ(trial_of(small, 4 * kib * kib, false), 0u);
  small = exact;
  small.op = STRETTO_MAX;
  EXPECT_EQ(trial_of(small, 4 * kib * kib, false), 0u);
  choices = on_hosts(4, 1);
  Call barrier = exact;
  barrier.collective = Collective::barrier;
  for (const int check : {1, 0}) {
    barrier.settings.options.check = check;
    EXPECT_EQ(trial_of(barrier, 0, false), 0u);
  }
  EXPECT_NE(choices.choose(barrier, 0, {false}, 1, {true}).provider, Provider::schedules);
  Call other = bounded;
  other.settings.options.trials = 0;
  EXPECT_EQ(trial_of(other, 4 * kib * kib, true), 0u);
  other = bounded;
  other.settings.options.payload = STRETTO_PAYLOAD_FUSED;
  EXPECT_EQ(trial_of(other, 4 * kib * kib, true), 0u);
  other = bounded;
  other.settings.schedule = "ring";
  EXPECT_EQ(trial_of(other, 4 * kib * kib, true), 0u);
}

TEST(Choices, PayloadsThatAddCodesNeverAddRawInsideAHostAndMixedAlwaysDoes) {
  Choices choices = on_hosts(6, 3);
  Call c = allreduce(1, 1e-3);
  for (const stretto_payload p : {STRETTO_PAYLOAD_HOMOMORPHIC, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_MIXED})
    for (const char* schedule : {"", "hierarchical_ring"}) {
      c.settings.options.payload = p;
      c.settings.schedule = schedule;
      const Choice choice = choices.choose(c, 4096 * kib, {true}, 8, {true});
      EXPECT_EQ(choice.provider, Provider::schedules);
      EXPECT_NE(choice.payload, payload::Kind::raw);
      EXPECT_EQ(choice.raw_inside, p == STRETTO_PAYLOAD_MIXED);
    }
  c.collective = Collective::allreduce_multi;
  c.settings = {};
  EXPECT_NE(choices.choose(c, 8, {true}, 8, {true}).payload, payload::Kind::raw);
}

TEST(Choices, SumsOfStreamsAloneAddNothingRaw) {
  for (const int per_host : {1, 3, 6})
    for (const std::size_t bytes : {std::size_t{4}, 64 * kib, 4096 * kib}) {
      Choices choices = on_hosts(6, per_host);
      const Call c = allreduce(bytes / 4, 1e-3);
      const Served all{true, true, true};
      for (int again = 0; again < 4; ++again) {
        Trial trial = 0;
        const Choice choice = run(choices, c, bytes, {true, true}, 8, all, &trial);
        EXPECT_NE(choice.payload, payload::Kind::raw);
        EXPECT_FALSE(choice.raw_inside);
        EXPECT_EQ(choice.raw_below, 0u);
        EXPECT_EQ(trial, 0u);
      }
    }
}

TEST(Choices, AnOperationThatDoesNotCommuteGetsAScheduleThatKeepsOrder) {
  Choices choices = on_hosts(7, 2);
  for (auto collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
    for (std::size_t bytes : {std::size_t{8}, 5000 * kib}) {
      Call c;
      c.collective = collective;
      c.op = STRETTO_USER;
      const auto* a =
          schedule::find(schedule::family(collective), choices.choose(c, bytes, {false}, 1, {false}).schedule);
      ASSERT_NE(a, nullptr);
      EXPECT_TRUE(schedule::keeps_order(*a, &choices.groups())) << a->name;
    }
}

TEST(Selector, WhatIsCutForTheHostsMessagesIsNotCutForADevice) {
  const auto shared = std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(4, 1));
  shared->eager_limit = kib;
  Selector selector(shared, 4, 1u << 20);
  Call c = allreduce(32 * kib);
  c.settings.schedule = "ring";
  for (const bool device : {false, true}) {
    const Served served{.device = device, .staged = device};
    Decision d = selector.decide(c, served);
    ASSERT_EQ(selector.complete(c, {}, served, &d), Status::ok) << message();
    EXPECT_EQ(d.choice.segment == kib, !device) << d.choice.segment;
  }
}

TEST(Ratios, AreRememberedForCallsLikeTheirs) {
  Ratios ratios;
  Call c = allreduce(1, 1e-3);
  EXPECT_EQ(ratios.recall(c, 1000), std::nullopt);
  ratios.remember(c, 1000, 7);
  EXPECT_EQ(ratios.recall(c, 1000), 7);
  EXPECT_EQ(ratios.recall(c, 2000), std::nullopt);
  c.settings.options.bound = 1e-4;
  EXPECT_EQ(ratios.recall(c, 1000), std::nullopt);
}

TEST(Forced, AForcedScheduleMustExistAndKeepOrder) {
  Call c = allreduce(1);
  c.settings.schedule = "nonsense";
  EXPECT_EQ(check_forced(c, {}, nullptr), Status::unsupported);
  c.settings.schedule = "ring";
  EXPECT_EQ(check_forced(c, {}, nullptr), Status::ok);
  c.op = STRETTO_USER;
  EXPECT_EQ(check_forced(c, {}, nullptr), Status::unsupported);
  c.settings.options.user_commutes = 1;
  EXPECT_EQ(check_forced(c, {}, nullptr), Status::ok);
}

TEST(Forced, AScheduleWhoseRanksBracketDifferentlyTakesOnlyWhatBracketsDoNotChange) {
  schedule::Algorithm differ = *schedule::find(schedule::Collective::allreduce, "recursive_doubling");
  Call integers = allreduce(8), relative = allreduce(8, 1e-3);
  integers.type = STRETTO_I32;
  relative.settings.options.bound_kind = STRETTO_BOUND_RELATIVE;
  std::vector<Call> fit{integers}, unfit{allreduce(8), relative};
  for (const stretto_payload payload : {STRETTO_PAYLOAD_AUTO, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC})
    fit.emplace_back(allreduce(8, 1e-3)).settings.options.payload = payload;
  for (const stretto_payload payload : {STRETTO_PAYLOAD_RAW, STRETTO_PAYLOAD_CPRP2P, STRETTO_PAYLOAD_RECOMPRESS})
    unfit.emplace_back(allreduce(8, 1e-3)).settings.options.payload = payload;
  for (const Call& c : unfit) EXPECT_EQ(check_algorithm(c, differ, nullptr), Status::ok) << message();
  differ.ranks_differ = true;
  for (const Call& c : fit) EXPECT_EQ(check_algorithm(c, differ, nullptr), Status::ok) << message();
  for (const Call& c : unfit) {
    EXPECT_EQ(check_algorithm(c, differ, nullptr), Status::unsupported);
    EXPECT_NE(std::string(message()).find("sums of f32 would differ between ranks"), std::string::npos) << message();
  }
}
