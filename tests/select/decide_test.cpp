// Choices without forced options, and their segments.
#include "select/decide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

constexpr std::size_t kKiB = 1024;

std::string name_of(const Choice& c) {
  if (c.provider == Provider::mpi) return "native";
  return c.provider == Provider::node ? "node" : c.schedule + " " + payload::name(c.payload);
}

Choices on_hosts(int ranks, int per_host) {
  return Choices(std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(ranks, per_host)));
}

}  // namespace

TEST(Choices, EveryCollectiveHasAnAnswerAndRepeatsGetTheSame) {
  for (int i = 0; i < schedule::kCollectives; ++i)
    for (std::size_t bytes : {std::size_t{0}, 40 * kKiB, 5000 * kKiB})
      for (int ranks : {1, 2, 7}) {
        Choices choices = on_hosts(ranks, 3);
        Call c;
        c.collective = static_cast<Collective>(i);
        const Choice first = choices.choose(c, bytes, {false}, {1, 1}, {false});
        EXPECT_EQ(first.provider, Provider::schedules);
        EXPECT_NE(schedule::find(schedule::family(c.collective), first.schedule), nullptr) << first.schedule;
        EXPECT_EQ(choices.choose(c, bytes, {false}, {1, 1}, {false}).schedule, first.schedule);
      }
}

// Four latencies of the link between hosts.
TEST(Choices, CallsWithinABoundAreBriefByTheLink) {
  const auto longest = [](double latency, double byte, int per_host = 1) {
    model::Profile profile = model::built_in();
    profile.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, latency, byte}};
    return Choices(std::make_shared<SharedChooser>(profile, topology::Topology::regular(4, per_host))).longest_brief();
  };
  EXPECT_NEAR(static_cast<double>(longest(20e-6, 8e-9)), 10000, 1);
  EXPECT_NEAR(static_cast<double>(longest(20e-6, 80e-9)), 1000, 1);
  EXPECT_EQ(longest(2e-6, 1e-12), 64 * kKiB);
  EXPECT_EQ(longest(20e-6, 0), 64 * kKiB);
  EXPECT_EQ(longest(20e-6, 8e-9, 4), 0u);
}

// Calls that differ in one option or in what serves them may have different answers.
TEST(Choices, AnswersKeptForAnotherFormAreNotTaken) {
  const auto shared = std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(4, 2));
  std::vector<std::pair<Call, Support>> all;
  for (const std::size_t count : {std::size_t{16}, 2 * kKiB, 256 * kKiB}) {
    const Call plain = allreduce(count);
    for (const Support s : {Support{}, Support{true}, Support{true, true}, Support{.native = true, .nodes = true}})
      all.emplace_back(plain, s);
    const auto with = [&](auto change) {
      Call c = plain;
      change(c);
      all.emplace_back(c, Support{true});
    };
    with([](Call& c) { c.collective = Collective::bcast, c.root = 1; });
    with([](Call& c) { c.collective = Collective::bcast, c.root = 2; });
    with([](Call& c) { c.settings.options.reproducible = 1; });
    with([](Call& c) { c.settings.options.segment = 4096; });
    with([](Call& c) { c.op = STRETTO_USER; });
    with([](Call& c) { c.nonblocking = true; });
    with([](Call& c) { c.type = STRETTO_F64, c.count /= 2; });
  }
  for (int round = 0; round < 2; ++round) {
    Choices kept(shared);  // another communicator
    const std::size_t known = shared->answers.size();
    for (const auto& [call, support] : all) {
      const std::size_t bytes = call.count * stretto_type_size(call.type);
      for (const bool may : {false, true}) {
        if (may && call.op == STRETTO_USER) continue;
        for (const call::Shrinks& ratios : {kUsualRatios, kBestRatios}) {
          const Choice expected = on_hosts(4, 2).choose(call, bytes, {may}, ratios, support);
          const Choice found = kept.choose(call, bytes, {may}, ratios, support);
          EXPECT_EQ(name_of(found), name_of(expected)) << bytes;
          EXPECT_EQ(found.segment, expected.segment) << bytes;
          EXPECT_EQ(found.why.seconds, expected.why.seconds) << bytes;
        }
      }
    }
    EXPECT_TRUE(round == 0 || shared->answers.size() == known);
  }
}

TEST(Choices, ANodesStreamsAreForcedByScheduleAndPayloadTogether) {
  Choices choices = on_hosts(4, 4);
  Call c = allreduce(10000, 1e-3);
  const Support all{true, true, true};
  c.settings.schedule = "node";
  EXPECT_EQ(choices.choose(c, 40000, {false}, {1, 1}, all).payload, payload::Kind::raw);
  for (const auto& [forced, kind] : {std::pair(STRETTO_PAYLOAD_FUSED, payload::Kind::fused),
                                     {STRETTO_PAYLOAD_HOMOMORPHIC, payload::Kind::homomorphic}}) {
    c.settings.options.payload = forced;
    const Choice choice = choices.choose(c, 40000, {true}, {4, 4}, all);
    EXPECT_NE(choice.provider, Provider::schedules);
    EXPECT_EQ(choice.provider, Provider::node);
    EXPECT_EQ(choice.payload, kind);
    EXPECT_EQ(choices.choose(c, 40000, {false}, {1, 1}, all).payload, payload::Kind::raw);  // only exact values will do
  }
  c.settings.schedule.clear();
  EXPECT_EQ(choices.choose(c, 40000, {true}, {4, 4}, Support{true, true}).provider,
            Provider::schedules);  // no streams there
}

TEST(Choices, EachHasItsReason) {
  Choices choices = on_hosts(4, 2);
  Call c = allreduce(1000);
  EXPECT_EQ(choices.choose(c, 4000, {false}, {1, 1}, {true}).why.reason, Reason::predicted);
  stretto_report report = STRETTO_REPORT_INIT;
  c.settings.options.report = &report;
  const Choice native = choices.choose(c, 4000, {false}, {1, 1}, {true});
  EXPECT_EQ(native.why.reason, Reason::predicted);
  EXPECT_GT(native.why.mpi, 0);
  EXPECT_EQ(native.why.seconds, native.why.mpi);
  const Choice alone = choices.choose(c, 4000, {false}, {1, 1}, {false});
  EXPECT_EQ(alone.why.reason, Reason::alone);
  EXPECT_EQ(alone.why.mpi, 0);
  for (const char* schedule : {"ring", "native", "node"}) {
    c.settings.schedule = schedule;
    EXPECT_EQ(choices.choose(c, 4000, {false}, {1, 1}, Support{true, true}).why.reason, Reason::forced) << schedule;
  }
}

TEST(Choices, LargeVectorsOverANetworkUseStreamsAndOthersNative) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(1, 1e-3);
  EXPECT_NE(choices.choose(c, 8, {true}, kBestRatios, {true}).provider, Provider::schedules);
  const Choice large = choices.choose(c, 64 * kKiB * kKiB, {true}, {8, 8}, {true});
  EXPECT_EQ(large.provider, Provider::schedules);
  EXPECT_NE(large.payload, payload::Kind::raw);
}

// However slow the native collective was measured to be.
TEST(Choices, NoScheduleIsTakenForShortVectors) {
  model::Profile slow = model::built_in();
  slow.natives.push_back({schedule::Collective::allreduce, 4, 4, {{8, 1.0}, {1e6, 1.0}}, model::Provider::mpi});
  Choices choices(std::make_shared<SharedChooser>(std::move(slow), topology::Topology::regular(4, 1)));
  EXPECT_NE(choices.choose(allreduce(256), kKiB, {false}, {1, 1}, {true}).provider, Provider::schedules);
  EXPECT_EQ(choices.choose(allreduce(256), kKiB, {false}, {1, 1}, {false}).provider,
            Provider::schedules);  // there is none
  EXPECT_EQ(choices.choose(allreduce(2 * 256), 2 * kKiB, {false}, {1, 1}, {true}).provider, Provider::schedules);
}

// Ranks need not ask for reports alike.
TEST(Choices, AReportOnOneRankChangesNoChoice) {
  for (const std::size_t bytes : {kKiB / 2, kKiB, 4 * kKiB * kKiB})
    for (const Support support : {Support{true, false}, Support{true, true}, Support{false, false}}) {
      Choices silent = on_hosts(4, support.node ? 4 : 1), told = on_hosts(4, support.node ? 4 : 1);
      stretto_report report = STRETTO_REPORT_INIT;
      for (int k = 0; k < 15; ++k) {
        Call c = allreduce(bytes / 4, bytes > kKiB ? 1e-3 : 0);
        const Choice without = silent.choose(c, bytes, {bytes > kKiB}, {8, 8}, support);
        if (k % 7 == 0) c.settings.options.report = &report;
        const Choice with = told.choose(c, bytes, {bytes > kKiB}, {8, 8}, support);
        EXPECT_EQ(without.provider, with.provider) << bytes << " B, call " << k;
        EXPECT_EQ(without.schedule, with.schedule) << bytes << " B, call " << k;
        EXPECT_EQ(without.why.reason, with.why.reason) << bytes << " B, call " << k;
        EXPECT_TRUE(k % 7 != 0 || with.why.seconds > 0) << bytes << " B, call " << k;
      }
    }
}

TEST(Choices, InsideAHostExactValuesMoveInMemoryWithinABoundToo) {
  Choices choices = on_hosts(4, 4);
  for (const double bound : {0.0, 1e-3}) {
    const Call c = allreduce(kKiB * kKiB, bound);
    const std::string name = name_of(choices.choose(c, 4 * kKiB * kKiB, {bound > 0}, {8, 8}, {true, true, true}));
    EXPECT_TRUE(name == "native" || name == "node") << name;
    const Choice& best = choices.choose(c, 4 * kKiB * kKiB, {true}, kBestRatios, {true, true, true});
    EXPECT_EQ(best.payload, payload::Kind::raw);
  }
}

TEST(Choices, LengthsOfOneCellHaveOneAnswerWhateverWasAskedBetween) {
  Choices choices = on_hosts(4, 1);
  const Call c = allreduce(kKiB * kKiB, 1e-3);
  constexpr std::size_t bytes = 4 * kKiB * kKiB;
  const std::string first = name_of(choices.choose(c, bytes, {true}, {8, 8}, {true}));
  for (std::size_t k = 0; k < 5000; ++k)  // more than are kept at hand
    static_cast<void>(choices.choose(allreduce(1), k * 61, {false}, {1, 1}, {false}));
  for (std::size_t k = 0; k < 24; ++k) EXPECT_EQ(name_of(choices.choose(c, bytes + k, {true}, {8, 8}, {true})), first);
}

TEST(Choices, ABarrierIsTheMpisOwnWhereThereIsOne) {
  Choices choices = on_hosts(4, 1);
  Call barrier = allreduce(0);
  barrier.collective = Collective::barrier;
  EXPECT_NE(choices.choose(barrier, 0, {false}, {1, 1}, {true}).provider, Provider::schedules);
}

TEST(Choices, InsideAHostMixedAddsRawAndCodePayloadsNeverDo) {
  Choices choices = on_hosts(6, 3);
  Call c = allreduce(1, 1e-3);
  for (const stretto_payload p : {STRETTO_PAYLOAD_HOMOMORPHIC, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_MIXED})
    for (const char* schedule : {"", "hierarchical_ring"}) {
      c.settings.options.payload = p;
      c.settings.schedule = schedule;
      const Choice choice = choices.choose(c, 4096 * kKiB, {true}, {8, 8}, {true});
      EXPECT_EQ(choice.provider, Provider::schedules);
      EXPECT_NE(choice.payload, payload::Kind::raw);
      EXPECT_EQ(choice.raw_inside, p == STRETTO_PAYLOAD_MIXED);
    }
  c.collective = Collective::allreduce_multi;
  c.settings = {};
  EXPECT_NE(choices.choose(c, 8, {true}, {8, 8}, {true}).payload, payload::Kind::raw);
}

TEST(Choices, SumsOfStreamsAloneAddNothingRaw) {
  for (const int per_host : {1, 3, 6})
    for (const std::size_t bytes : {std::size_t{4}, 64 * kKiB, 4096 * kKiB}) {
      Choices choices = on_hosts(6, per_host);
      const Call c = allreduce(bytes / 4, 1e-3);
      const Support all{true, true, true};
      const Choice choice = choices.choose(c, bytes, {true, true}, {8, 8}, all);
      EXPECT_NE(choice.payload, payload::Kind::raw);
      EXPECT_FALSE(choice.raw_inside);
      EXPECT_EQ(choice.raw_below, 0u);
    }
}

TEST(Choices, ANonCommutativeOperationGetsAnOrderedSchedule) {
  Choices choices = on_hosts(7, 2);
  for (auto collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
    for (std::size_t bytes : {std::size_t{8}, 5000 * kKiB}) {
      Call c;
      c.collective = collective;
      c.op = STRETTO_USER;
      const auto* a =
          schedule::find(schedule::family(collective), choices.choose(c, bytes, {false}, {1, 1}, {false}).schedule);
      ASSERT_NE(a, nullptr);
      EXPECT_TRUE(schedule::keeps_order(*a, &choices.groups())) << a->name;
    }
}

TEST(Selector, WhatIsCutForTheHostsMessagesIsNotCutForADevice) {
  const auto shared = std::make_shared<SharedChooser>(model::built_in(), topology::Topology::regular(4, 1));
  shared->eager_limit = kKiB;
  Selector selector(shared, 4, 1u << 20);
  Call c = allreduce(32 * kKiB);
  c.settings.schedule = "ring";
  for (const bool device : {false, true}) {
    const Support support{.device = device, .staged = device};
    Decision d = selector.decide(c, support);
    ASSERT_EQ(selector.complete(c, {}, support, &d), Status::ok) << message();
    EXPECT_EQ(d.choice.segment == kKiB, !device) << d.choice.segment;
  }
}

TEST(Selector, ShortCallsSampleSeldomAndLongOrDenseOnesAlways) {
  struct Case {
    std::size_t count;
    int check;
    double dense;  // ratio of dense streams; of fixed ones 8
    bool again;
  };
  for (const Case& each : {Case{32 * kKiB, 1, 8, false}, Case{32 * kKiB, 0, 8, false}, Case{64 * kKiB, 1, 8, true},
                           Case{64 * kKiB, 0, 8, false}, Case{32 * kKiB, 1, 16, true}}) {
    SCOPED_TRACE(testing::Message() << each.count << " values, check " << each.check << ", " << each.dense);
    model::Profile profile = model::built_in();
    profile.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 3e-5, 8e-9, 0}};
    Selector selector(std::make_shared<SharedChooser>(profile, topology::Topology::regular(2, 1)), 2, 1 << 20);
    Call c = allreduce(each.count, 1e-3);
    c.settings.options.check = each.check;
    const Decision first = selector.decide(c, {});
    EXPECT_TRUE(first.needs.sample);
    selector.remember(c, {8, each.dense}, first);
    const Decision again = selector.decide(c, {});
    EXPECT_EQ(again.needs.sample, each.again);
    EXPECT_EQ(again.made, !each.again);
    EXPECT_EQ(again.samples_later, each.check && !each.again) << "a prepared call would take no sample again";
    for (std::uint32_t call = 2; call <= Ratios::kCallsPerSample; ++call) selector.remember(c, {}, again);
    EXPECT_EQ(selector.decide(c, {}).needs.sample, each.check != 0);
  }
}

// A sample and the exchange of its ratio may take as long as the call, and the shape may not come again.
TEST(Selector, TheFirstCallOfAShortShapeIsRawWithoutASample) {
  model::Profile profile = model::built_in();
  profile.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 3e-5, 8e-9, 0}};
  const auto is_raw_at_first = [&](const Call& c, int hosts = 2) {
    Selector selector(std::make_shared<SharedChooser>(profile, topology::Topology::regular(hosts, 1)), hosts, 1 << 20);
    const Decision first = selector.decide(c, {});
    if (first.needs.sample) return false;
    EXPECT_TRUE(first.made && first.samples_later && !first.streams() && !first.needs.range);
    Decision again = first;
    again.made = false;  // as where a rank's values are on a device
    EXPECT_EQ(selector.complete(c, {}, {}, &again), Status::ok) << message();
    EXPECT_FALSE(again.streams());
    EXPECT_EQ(selector.decide(c, {}).needs.sample, false) << "nothing was agreed";
    selector.remember(c, {}, first);
    const Decision second = selector.decide(c, {});
    EXPECT_TRUE(second.needs.sample);
    EXPECT_EQ(second.needs.range, c.settings.options.bound_kind == STRETTO_BOUND_RELATIVE);
    return true;
  };
  Call c = allreduce(4 * kKiB, 1e-3);
  for (const int check : {0, 1}) {
    c.settings.options.check = check;
    EXPECT_TRUE(is_raw_at_first(c));
  }
  Call other = c;
  other.settings.options.bound_kind = STRETTO_BOUND_RELATIVE;
  EXPECT_TRUE(is_raw_at_first(other));
  other = c;
  other.count = 4 * kKiB + 1;
  EXPECT_FALSE(is_raw_at_first(other));
  other = c;
  other.nonblocking = true;
  EXPECT_FALSE(is_raw_at_first(other)) << "nothing is remembered of started calls";
  other = c;
  other.settings.options.scope = STRETTO_SCOPE_RESULT;
  EXPECT_TRUE(is_raw_at_first(other));
  EXPECT_FALSE(is_raw_at_first(other, 3)) << "their roundings need an exchange of the range anyway";
}

TEST(Selector, StreamsAreDenseWhereTheLinkIsSlowAndTheGainIsLarge) {
  model::Profile slow = model::built_in();
  slow.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 3e-5, 8e-8, 0}};  // 100 Mb/s
  const Support support{};
  const auto coding = [&](const model::Profile& profile, int per_host, const Shrinks& ratios, stretto_coding asked) {
    Choices choices(std::make_shared<SharedChooser>(profile, topology::Topology::regular(2, per_host)));
    Call c = allreduce(16 * kKiB * kKiB, 1e-3);
    c.settings.options.coding = asked;
    c.settings.options.payload = STRETTO_PAYLOAD_FUSED;
    const Choice choice = choices.choose(c, 64 * kKiB * kKiB, {true}, ratios, support);
    EXPECT_NE(choice.payload, payload::Kind::raw);
    return choice.coding;
  };
  using codec::Coding;
  EXPECT_EQ(coding(slow, 1, {10, 20}, STRETTO_CODING_AUTO), Coding::dense);
  EXPECT_EQ(coding(slow, 1, {10, 10}, STRETTO_CODING_AUTO), Coding::fixed) << "nothing is gained";
  EXPECT_EQ(coding(slow, 1, {10, 0}, STRETTO_CODING_AUTO), Coding::fixed) << "the gain is not known";
  EXPECT_EQ(coding(slow, 1, {10, 20}, STRETTO_CODING_FIXED), Coding::fixed);
  model::Profile fast = model::built_in();
  fast.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 3e-6, 8e-10, 0}};  // 10 Gb/s
  EXPECT_EQ(coding(fast, 1, {10, 20}, STRETTO_CODING_AUTO), Coding::fixed);
  EXPECT_EQ(coding(fast, 1, {10, 20}, STRETTO_CODING_DENSE), Coding::dense);
}

TEST(Ratios, AreRememberedForCallsLikeTheirs) {
  Ratios ratios;
  Call c = allreduce(1, 1e-3);
  EXPECT_EQ(ratios.recall(c, 1000), std::nullopt);
  const Shrinks seen{7, 11};
  ratios.remember(c, 1000, seen, false);
  EXPECT_EQ(ratios.recall(c, 1000), seen);
  EXPECT_EQ(ratios.recall(c, 2000), std::nullopt);
  EXPECT_TRUE(ratios.is_due(c, 2000)) << "unknown";
  for (std::uint32_t call = 2; call <= Ratios::kCallsPerSample; ++call) {
    EXPECT_FALSE(ratios.is_due(c, 1000)) << call;
    ratios.remember(c, 1000, {}, true);
  }
  EXPECT_EQ(ratios.recall(c, 1000), seen);
  EXPECT_TRUE(ratios.is_due(c, 1000));
  const std::uint64_t changes = ratios.changes();
  ratios.remember(c, 1000, seen, false);
  EXPECT_FALSE(ratios.is_due(c, 1000));
  EXPECT_EQ(ratios.changes(), changes);
  c.settings.options.bound = 1e-4;
  EXPECT_EQ(ratios.recall(c, 1000), std::nullopt);
  EXPECT_EQ(ratios.changes(), changes);
}

// So shapes that share an entry do not keep each other from sampling, and no learned ratio is lost to a mark.
TEST(Ratios, OnlyCallsWithRoomAreMarkedAsSeen) {
  Ratios ratios;
  const Call c = allreduce(1, 1e-3);
  std::size_t other = 2000;  // bytes of a shape that shares the entry of the first
  ratios.remember(c, 1000, {7, 11}, false);
  while (ratios.has_room(c, other)) ++other;
  ratios = {};
  ratios.remember(c, 1000, {}, false);
  EXPECT_TRUE(ratios.has_room(c, 1000));
  ratios.remember(c, 1000, {}, true);
  EXPECT_FALSE(ratios.has_room(c, 1000));
  EXPECT_EQ(ratios.recall(c, 1000), std::nullopt) << "no sample yet";
  EXPECT_FALSE(ratios.has_room(c, other));
  ratios.remember(c, 1000, {7, 11}, false);
  ratios.remember(c, other, {}, true);
  EXPECT_EQ(ratios.recall(c, 1000), (Shrinks{7, 11}));
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

TEST(Forced, ScheduleOfDifferentBracketsTakesOnlyAssociativeCalls) {
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
