// Promises of sums that add raw values beside streams hold against exact arithmetic, by every schedule that supports
// them.
#include <gtest/gtest.h>

#include "../api/exact.hpp"
#include "../engine/ranks.hpp"
#include "call/enums.hpp"
#include "engine/binding.hpp"
#include "schedule/floors.hpp"
#include "schedule/registry.hpp"
#include "select/error_bound.hpp"

using namespace stretto;
using namespace api_test;

namespace {

constexpr std::size_t kElements = 5000;

template <class T>
class Mixed : public testing::Test {
 protected:
  // An allreduce whose bound is for its result, and near what additions take from it.
  void expect_kept(const schedule::Algorithm& algorithm, const schedule::Groups& groups, stretto_op op) {
    constexpr int ranks = 9;
    const auto all = inputs<T>(ranks, kElements, 3.0);
    select::AgreedValues agreed;
    for (const auto& x : all)
      for (const auto v : x) agreed.values.all.merge({T::value(v), T::value(v)});
    call::Call asked;
    asked.collective = call::Collective::allreduce;
    asked.type = T::kType;
    asked.op = op;
    stretto_options& o = asked.settings.options;
    o.bound_kind = STRETTO_BOUND_ABSOLUTE;
    o.scope = STRETTO_SCOPE_RESULT;
    select::Terms terms{payload::Kind::fused, ranks, ranks};
    terms.hosts = static_cast<int>(groups.members.size());
    for (const auto& members : groups.members) terms.inside += select::roundings(static_cast<double>(members.size()));
    o.bound = 1.5 * select::error_of(asked, terms, agreed, 0);
    ASSERT_GT(o.bound, 0);
    payload::Spec spec;
    spec.kind = payload::Kind::fused;
    spec.type = call::payload_type(T::kType);
    spec.op = call::payload_op(op);
    spec.nodes = terms.hosts;
    ASSERT_EQ(select::eps_of(asked, terms, agreed, select::absolute_bound(asked, agreed), &spec.eps), Status::ok)
        << message();
    tests::on_ranks(ranks, [&](int rank, engine::Engine& engine) {
      schedule::Request request;
      request.collective = schedule::Collective::allreduce;
      request.ranks = ranks;
      request.rank = rank;
      request.groups = &groups;
      engine::Work call;
      call.schedule = std::make_shared<schedule::Schedule>(algorithm.build(request));
      call.payload = spec;
      std::vector<typename T::Bits> y(kElements);
      const void* in = all[static_cast<std::size_t>(rank)].data();
      ASSERT_EQ(engine::bind(*call.schedule, spec.type, {.in = in, .out = y.data(), .count = kElements}, &call.blocks),
                Status::ok);
      ASSERT_EQ(engine.run(call), Status::ok) << message();
      for (auto i = static_cast<std::size_t>(rank); i < kElements; i += ranks)
        ASSERT_TRUE(within<T>(y[i], terms_of<T>(all, i, op), op, select::error_of(asked, terms, agreed, spec.eps)))
            << i;
    });
  }
};
using All = testing::Types<F16, BF16, F32, F64>;
TYPED_TEST_SUITE(Mixed, All, TypeNames);

}  // namespace

TYPED_TEST(Mixed, SumsAndMeansKeepABoundForTheResult) {
  const auto groups = schedule::groups_of(std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 2, 2});
  int floors = 0;
  for (const auto& algorithm : schedule::algorithms()) {
    if (algorithm.collective != schedule::Collective::allreduce || !algorithm.uses_groups) continue;
    for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN}) {
      SCOPED_TRACE(testing::Message() << algorithm.name << ", operation " << op);
      this->expect_kept(algorithm, groups, op);
      ++floors;
    }
  }
  EXPECT_GT(floors, 0);
}
