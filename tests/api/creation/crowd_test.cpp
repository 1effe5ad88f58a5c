// Hosts of several names under one kernel, as containers, share its cores: waits of a host's ranks in memory yield if
// all ranks are more than the cores.
#include <sched.h>

#include <atomic>
#include <string>

#include "../../node/ranks.hpp"
#include "api/creation/create.hpp"
#include "api/creation/node.hpp"

namespace stretto::api {
namespace {

// Rank 0 of two hosts with two ranks each; no message moves.
class Unmoved final : public backend::Transport {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 4; }
  Status allgather(const void*, std::size_t, void*) noexcept override { return Status::unsupported; }
  std::string name() const override { return "none"; }
  Status broadcast(void*, std::size_t) noexcept override { return Status::unsupported; }
  Status make_carrier(std::unique_ptr<carrier::Carrier>*) noexcept override { return Status::unsupported; }
  std::unique_ptr<backend::Backend> make_native() override { return nullptr; }
  std::size_t eager_limit() noexcept override { return 0; }
  std::vector<int> numbers() const override { return {0, 1, 2, 3}; }
  int others_here() const noexcept override { return 0; }
  bool any_thread() const noexcept override { return false; }
  void progress() noexcept override {}
  void created(std::function<std::string()>) noexcept override {}
};

// True if waits of a host's two ranks yield beside another host's two ranks, each introduced as `other`.
bool yields_beside(const Introduction& other) {
  const Introduction me = introduce();
  const std::vector<Introduction> all{me, me, other, other};
  std::vector<topology::Place> places(4);
  places[2].host = places[3].host = 1;
  const topology::Topology topology(std::move(places), 2);
  Unmoved transport;
  std::string why;
  const backend::MakeHost make = later_node(transport, all, topology, model::built_in(), &why);
  EXPECT_EQ(why, "");
  std::atomic<bool> yields{false};
  node::on_exchanges(2, [&](node::Exchange& exchange) {
    std::unique_ptr<node::Collectives> made;
    ASSERT_EQ(make(exchange, &made), Status::ok) << message();
    if (exchange.rank() == 0) yields = made->group().patience().shares;
    ASSERT_EQ(node::agree(exchange, Status::ok), Status::ok);
  });
  return yields;
}

// A process never forgets that its ranks outnumber the cores, so the order of these checks matters.
TEST(Crowd, RanksOfHostsUnderOneKernelThatAreMoreThanItsCoresYield) {
  cpu_set_t usable, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  CPU_ZERO(&two);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++core)
    if (CPU_ISSET(core, &usable)) CPU_SET(core, &two);
  if (CPU_COUNT(&two) < 2) GTEST_SKIP() << "one core alone";
  ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);

  Introduction other = introduce();
  other.boot.front() = 'x';
  EXPECT_FALSE(yields_beside(other)) << "another kernel";
  other.boot = introduce().boot;
  EXPECT_TRUE(yields_beside(other)) << "the same cores";
  other.boot.front() = 'x';
  EXPECT_TRUE(yields_beside(other)) << "as was found before";
}

TEST(Crowd, EqualProcessesHaveEqualHashes) {
  EXPECT_NE(kernel_hash(false), 0u);
  EXPECT_EQ(kernel_hash(false), kernel_hash(false));
  EXPECT_NE(kernel_hash(true), kernel_hash(false));
}

}  // namespace
}  // namespace stretto::api
