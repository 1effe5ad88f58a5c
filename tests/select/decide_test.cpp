// What is chosen when nothing is forced, and how it is cut.
#include "select/decide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

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

using Seconds = std::function<double(const Choice&)>;

double a_millisecond(const Choice&) { return 1e-3; }

// One call as a rank makes it, with the agreement that is due. Returns what runs; *measured: the trial whose turn it takes.
Choice run(Choices& choices, const Call& c, std::size_t bytes, Streaming streaming, double ratio, Served served,
           Trial* measured, const Seconds& seconds = a_millisecond) {
  Turn turn;
  Choice now = choices.look(c, bytes, streaming, ratio, served, &turn);
  if (choices.due(turn.trial)) {
    choices.agreed(turn, choices.times(turn.trial));
    now = choices.look(c, bytes, streaming, ratio, served, &turn);
  }
  choices.begin(turn, now);
  *measured = turn.trial;
  if (turn.trial != 0) choices.took(turn.trial, seconds(now), 20e-6);
  return now;
}

std::string name_of(const Choice& c) {
  const std::string copy = c.other_copy ? " the other way" : "";
  if (c.provider == Provider::mpi) return "native";
  return c.provider == Provider::node ? "node" + copy : c.schedule + " " + payload::name(c.payload);
}

// What calls of a shape run as, each name once, in the order in which they came.
std::vector<std::string> tried(Choices& choices, const Call& c, std::size_t bytes, Streaming streaming, Served served,
                               int calls, const Seconds& seconds = a_millisecond) {
  std::vector<std::string> names;
  for (int k = 0; k < calls; ++k) {
    Trial measured = 0;
    const std::string name = name_of(run(choices, c, bytes, streaming, 8, served, &measured, seconds));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
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
      }
    }
}

TEST(Choices, CloseCandidatesAreTriedAndTheFastestLeads) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  constexpr std::size_t bytes = 4 * kib * kib;
  const std::vector<std::string> names = tried(choices, c, bytes, {true}, {true}, 3000, a_millisecond);
  ASSERT_GE(names.size(), 2u);
  // Another communicator, where the second of these is twice as fast.
  Choices other = on_hosts(4, 1);
  const Seconds seconds = [&](const Choice& now) { return name_of(now) == names[1] ? 0.5e-3 : 1e-3; };
  tried(other, c, bytes, {true}, {true}, 3000, seconds);
  Trial measured = 0;
  const Choice found = run(other, c, bytes, {true}, 8, {true}, &measured);
  EXPECT_EQ(measured, 0u);
  EXPECT_EQ(name_of(found), names[1]);
  EXPECT_EQ(found.why.reason, Reason::winner);
  // A started call does not depend on trials.
  Choices fresh = on_hosts(4, 1);
  EXPECT_EQ(name_of(other.choose(c, bytes, {true}, 8, {true})), name_of(fresh.choose(c, bytes, {true}, 8, {true})));
}

TEST(Choices, TheFirstTwentyCallsRunAsPredicted) {
  for (const Served served : {Served{true, false}, Served{true, true, false, true}})
    for (const std::size_t bytes : {64 * kib, 64 * kib * kib}) {
      Choices choices = on_hosts(4, served.node ? 4 : 1);
      EXPECT_EQ(tried(choices, allreduce(bytes / 4, 1e-3), bytes, {true}, served, 20).size(), 1u) << bytes;
    }
}

// With a network of 1 Gb/s the MPI's own collective of long vectors is predicted to take many times as long as streams.
TEST(Choices, APathPredictedFarBehindIsNeverTried) {
  model::Profile p = model::built_in();
  p.natives = {{schedule::Collective::allreduce, 4, 4, {{1e6, 1}, {1e9, 1000}}, model::Provider::mpi}};
  Choices choices(std::make_shared<SharedChooser>(p, topology::Topology::regular(4, 1)));
  const auto names = tried(choices, allreduce(16 * kib * kib, 1e-3), 64 * kib * kib, {true}, {true}, 5000);
  EXPECT_GE(names.size(), 2u);
  EXPECT_EQ(std::count(names.begin(), names.end(), "native"), 0);
}

TEST(Choices, InsideAHostMessagesAreNotTried) {
  Choices choices = on_hosts(4, 4);
  for (const double bound : {0.0, 1e-3}) {
    Call c = allreduce(kib * kib, bound);
    c.op = bound > 0 ? STRETTO_SUM : STRETTO_MAX;
    c.type = bound > 0 ? STRETTO_F32 : STRETTO_I32;
    for (const std::string& name : tried(choices, c, 4 * kib * kib, {bound > 0}, {true, true, true}, 3000))
      EXPECT_TRUE(name == "native" || name == "node") << name;
    EXPECT_FALSE(choices.may_stream(c, 4 * kib * kib, best_ratio, {true, true, true}));
  }
}

TEST(Choices, ANodesOtherCopyModeIsTriedWhereThereIsOne) {
  model::Profile p = model::built_in();
  p.natives = {{schedule::Collective::allgather, 4, 1, {{1024, 1.1e-8}}, model::Provider::mpi},
               {schedule::Collective::allgather, 4, 1, {{1024, 1e-8}}, model::Provider::node}};
  for (const bool otherwise : {false, true}) {
    Choices choices(std::make_shared<SharedChooser>(p, topology::Topology::regular(4, 4)));
    Call c = allreduce(kib * kib);
    c.collective = Collective::allgather;
    const auto names = tried(choices, c, 4 * kib * kib, {false}, Served{true, true, false, otherwise}, 3000);
    EXPECT_EQ(std::count(names.begin(), names.end(), "native"), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), "node"), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), "node the other way"), otherwise ? 1 : 0);
  }
}

TEST(Choices, ShortCallsAreTriedWhereANodeHasTwoCopyModes) {
  for (const double seconds : {3e-6, 6e-6, 11e-6}) {
    model::Profile p = model::built_in();
    p.natives = {{schedule::Collective::allgather, 4, 1, {{64 * kib, 1.1 * seconds}}, model::Provider::mpi},
                 {schedule::Collective::allgather, 4, 1, {{64 * kib, seconds}}, model::Provider::node}};
    for (const bool otherwise : {false, true}) {
      Choices choices(std::make_shared<SharedChooser>(p, topology::Topology::regular(4, 4)));
      Call c = allreduce(4 * kib);
      c.collective = Collective::allgather;
      const auto names = tried(choices, c, 64 * kib, {false}, Served{true, true, false, otherwise}, 5000,
                               [&](const Choice&) { return seconds; });
      EXPECT_EQ(names.size() > 1, seconds > (otherwise ? 4e-6 : 10e-6)) << seconds << (otherwise ? " two modes" : "");
    }
  }
}

TEST(Choices, ATrialIsOfAllLengthsOfItsCellAndLaterNeedsNoModel) {
  const auto shared = std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(4, 1));
  Choices choices(shared);
  const Call c = allreduce(kib * kib, 1e-3);
  constexpr std::size_t bytes = 4 * kib * kib;
  const std::string first = name_of(choices.choose(c, bytes, {true}, 8, {true}));
  const Seconds seconds = [&](const Choice& now) { return name_of(now) == first ? 5 : 1; };
  const auto call = [&](std::size_t length) {
    Trial measured = 0;
    return name_of(run(choices, c, length, {true}, 8, {true}, &measured, seconds));
  };
  for (std::size_t k = 0; k < 1000; ++k) call(bytes + k % 24);
  const std::string found = call(bytes);
  EXPECT_NE(found, first);
  EXPECT_EQ(call(bytes * 17 / 16), name_of(choices.choose(c, bytes * 17 / 16, {true}, 8, {true})));  // another cell
  shared->chooser = model::Chooser(model::built_in(), topology::Topology::regular(4, 4));
  for (std::size_t k = 0; k < 5000; ++k)  // more than are kept at hand
    static_cast<void>(choices.choose(allreduce(1), k * 61, {false}, 1, {false}));
  EXPECT_EQ(call(bytes + 8), found);
}

TEST(Choices, OnlyACallThatRunsCountsAsTheFirstOfItsShape) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  Turn turn;
  Choice now;
  const auto look = [&] { now = choices.look(c, 4 * kib * kib, {true}, 8, {true}, &turn); };
  for (int again = 0; again < 3; ++again) {
    look();
    EXPECT_NE(turn.first, 0u);
    EXPECT_EQ(turn.opens, 0u);
  }
  choices.begin(turn, now);
  look();
  EXPECT_EQ(turn.first, 0u);
  EXPECT_NE(turn.opens, 0u);
  choices.begin(turn, now);
  look();
  EXPECT_EQ(turn.opens, 0u);
  EXPECT_NE(turn.leads, nullptr);
}

TEST(Choices, LookingAtShapesThatDoNotRunChangesNoTrial) {
  Choices looked = on_hosts(4, 1), plain = on_hosts(4, 1);
  const Call c = allreduce(kib * kib, 1e-3);
  for (int i = 0; i < 200; ++i) {
    // Hundreds of other shapes, more than are kept at hand, on one rank only.
    Turn other;
    for (std::size_t k = 1; i % 50 == 0 && k < 300; k += 7)
      static_cast<void>(looked.look(allreduce(k * kib, 1e-3), 4 * k * kib, {true}, 8, {true}, &other));
    Trial ours = 0, theirs = 0;
    EXPECT_EQ(name_of(run(looked, c, 4 * kib * kib, {true}, 8, {true}, &ours)),
              name_of(run(plain, c, 4 * kib * kib, {true}, 8, {true}, &theirs)));
    EXPECT_EQ(ours, theirs);
  }
}

TEST(Choices, NothingIsTriedThatIsForcedOrWouldChangeBitsOrIsShort) {
  Choices choices = on_hosts(4, 1);
  const auto trial_of = [&](const Call& c, std::size_t bytes, bool compress) {
    Turn turn;
    for (int again = 0; again < 2; ++again) {
      const Choice now = choices.look(c, bytes, {compress}, 8, {true}, &turn);
      choices.begin(turn, now);
    }
    return turn.opens;
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
