// A choice walks only some candidates, and its result is as good as that of an exhaustive search.
#include "model/search.hpp"

#include <algorithm>
#include <cmath>

#include "chooser.hpp"
#include "model/decide.hpp"
#include "model/native.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::model {
namespace {

constexpr double kMargin = 1.01;  // of predicted seconds

// The built-in machine on a network of so many Gb/s.
Profile on_network_of(double gigabits) {
  Profile p = built_in();
  for (Span& s : p.links[static_cast<std::size_t>(topology::Distance::network)]) s.beta = 8e-9 / gigabits;
  return p;
}

std::string text_of(const Candidate& c) {
  return fmt::format("{} {} {}{} segment {} pieces {} radix {} raw below {}: {} s", c.native ? "native" : "",
                     c.schedule, payload::name(c.payload), c.raw_inside ? " raw inside" : "", c.segment, c.blocks,
                     c.radix, c.raw_below, c.seconds);
}

const Candidate* find_in(const std::vector<Candidate>& all, const Candidate& c) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Candidate& o) {
    return o.native == c.native && o.provider == c.provider && o.schedule == c.schedule && o.payload == c.payload &&
           o.raw_inside == c.raw_inside && o.segment == c.segment && o.blocks == c.blocks && o.radix == c.radix &&
           o.raw_below == c.raw_below;
  });
  return found != all.end() ? &*found : nullptr;
}

struct Place {
  int ranks, per_host;
};

void PrintTo(const Place& p, std::ostream* out) { *out << p.ranks << " ranks, " << p.per_host << " a host"; }

class Search : public testing::TestWithParam<Place> {
 protected:
  template <class Check>
  void for_each_question(const Check& check) {
    const auto [ranks, per_host] = GetParam();
    for (const double gigabits : {1.0, 25.0}) {
      Chooser chooser(on_network_of(gigabits), topology::Topology::regular(ranks, per_host));
      for (int k = 0; k < schedule::kCollectives; ++k) {
        for (const std::uint64_t bytes : {2u << 10, 32u << 10, 256u << 10, 1u << 20, 8u << 20}) {
          for (const double ratio : {0.0, 4.0}) {
            Question q = allreduce(bytes, ratio);
            q.collective = static_cast<Collective>(k);
            if (schedule::family(q.collective) != q.collective) continue;
            SCOPED_TRACE(testing::Message() << schedule::name(q.collective) << " of " << bytes << " B, ratio " << ratio
                                            << ", " << gigabits << " Gb/s");
            check(chooser, on_grid(q));
          }
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Places, Search,
                         testing::Values(Place{2, 1}, Place{3, 1}, Place{4, 1}, Place{4, 2}, Place{7, 3}, Place{8, 4},
                                         Place{13, 1}),
                         [](const auto& info) {
                           return fmt::format("{}ranks{}aHost", info.param.ranks, info.param.per_host);
                         });

TEST_P(Search, FindsTheCheapestScheduleWithinOneInAHundred) {
  for_each_question([](Chooser& chooser, const Question& q) {
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
    const Candidate found = best(chooser, q);
    const Candidate* there = find_in(all, found);
    ASSERT_NE(there, nullptr) << text_of(found);
    EXPECT_EQ(there->seconds, found.seconds) << text_of(found);
    EXPECT_LE(found.seconds, kMargin * all.front().seconds) << text_of(found) << "\n" << text_of(all.front());
  });
}

// Machines whose codec launches kernels, so that the segment decides.
TEST(SearchOfShippedMachines, FindsTheBestScheduleForKernelCodecs) {
  for (const char* name : {"a100-hdr", "a100-100g", "h200-1gpu"}) {
    Profile machine;
    ASSERT_EQ(shipped(name, &machine), Status::ok) << message();
    Chooser chooser(machine, topology::Topology::regular(16, 4));
    for (const std::uint64_t bytes : {1u << 20, 64u << 20, 1u << 30}) {
      SCOPED_TRACE(testing::Message() << name << ", " << bytes << " B");
      const Question q = on_grid(allreduce(bytes, 8));
      std::vector<Candidate> all;
      ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
      EXPECT_LE(best(chooser, q).seconds, kMargin * all.front().seconds) << text_of(all.front());
    }
  }
}

TEST_P(Search, TakesNoLongerACollectiveThanALookAtAllWould) {
  for_each_question([](Chooser& chooser, Question q) {
    q.native = true;
    std::vector<Candidate> all;
    ASSERT_EQ(chooser.table(q, &all), Status::ok) << message();
    const auto own = std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native; });
    ASSERT_NE(own, all.end());
    const double limit = longest_worthwhile(own->seconds);
    ModelChoice quick, predicted;
    ASSERT_EQ(decide(chooser, q, &quick), Status::ok) << message();
    ASSERT_EQ(decide(chooser, q, &predicted, true), Status::ok) << message();
    const Candidate* there = find_in(all, quick.taken);
    ASSERT_NE(there, nullptr) << text_of(quick.taken);
    EXPECT_EQ(find_in(all, predicted.taken), there) << text_of(quick.taken) << "\n" << text_of(predicted.taken);
    EXPECT_LE(predicted.taken.seconds, kMargin * there->seconds) << text_of(quick.taken);
    EXPECT_GE(predicted.taken.seconds, there->seconds) << text_of(quick.taken);
    if (!own->native || std::fabs(all.front().seconds - limit) < (kMargin - 1) * limit) return;  // a draw
    const double wanted = all.front().seconds < limit ? all.front().seconds : own->seconds;
    EXPECT_LE(there->seconds, kMargin * wanted) << text_of(quick.taken) << "\n" << text_of(all.front());
  });
}

}  // namespace
}  // namespace stretto::model
