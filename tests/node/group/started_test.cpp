// Started collectives beside blocking ones, driven by the ranks' own threads and by others.
#include "node/group/started.hpp"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "../ranks.hpp"

namespace stretto::node {
namespace {

using Values = std::vector<double>;

struct Sum final : Started::Task {
  Sum(Collectives& of, std::size_t n, double value) : c(of), in(n, value), out(n) {}
  Status run() noexcept override {
    return c.allreduce(in.data(), out.data(), in.size(), payload::Type::f64, {payload::Op::sum});
  }
  Collectives& c;
  Values in, out;
};

struct Rank {
  explicit Rank(Collectives& of) : blocking(of), beside(of.beside()), started(beside->group().patience()) {}
  std::unique_ptr<Sum> start(std::size_t n, double value) {
    auto made = std::make_unique<Sum>(*beside, n, value);
    started.start(*made);
    return made;
  }
  void finish(const Sum& s, double expected) {
    while (!s.done())
      if (!started.drive()) std::this_thread::yield();
    ASSERT_EQ(s.status(), Status::ok) << message();
    EXPECT_EQ(s.out, Values(s.out.size(), expected));
  }
  void block(std::size_t n, double value, double expected) {
    Values in(n, value), out(n);
    ASSERT_EQ(blocking.allreduce(in.data(), out.data(), n, payload::Type::f64, {payload::Op::sum}), Status::ok);
    EXPECT_EQ(out, Values(n, expected));
  }
  Collectives& blocking;
  std::unique_ptr<Collectives> beside;
  Started started;
};

Options small_slots() {
  Options o;
  o.group.slot = 4096;
  return o;
}

TEST(Started, RunInStartOrderWhicheverIsAwaitedBesideBlockingOnes) {
  for (const int ranks : {1, 2, 3, 5})
    on_collectives(ranks, small_slots(), [&](Collectives& c) {
      Rank rank(c);
      for (int step = 0; step < 20; ++step) {
        std::vector<std::unique_ptr<Sum>> all;
        for (std::size_t k = 0; k < 6; ++k) all.push_back(rank.start(std::size_t{1} << (2 * k), double(k)));
        // The blocking call is independent of the started collectives, and ends before them.
        rank.block(3000, 1, ranks);
        const std::size_t first = static_cast<std::size_t>(c.rank() + step) % all.size();
        for (std::size_t k = 0; k < all.size(); ++k) {
          const std::size_t at = (first + k) % all.size();
          rank.finish(*all[at], double(at) * ranks);
        }
        EXPECT_TRUE(rank.started.idle());
      }
    });
}

TEST(Started, MoveOnAnyThread) {
  on_collectives(3, small_slots(), [](Collectives& c) {
    Rank rank(c);
    std::atomic<bool> over{false};
    std::vector<std::thread> drivers;
    for (int i = 0; i < 2; ++i)
      drivers.emplace_back([&] {
        while (!over)
          if (!rank.started.drive()) std::this_thread::yield();
      });
    for (int step = 0; step < 100; ++step) {
      const auto sum = rank.start(1 + static_cast<std::size_t>(step) * 37, step);
      rank.block(10, 1, 3);
      while (!sum->done()) std::this_thread::yield();
      ASSERT_EQ(sum->status(), Status::ok);
      EXPECT_EQ(sum->out.back(), 3.0 * step);
    }
    over = true;
    for (auto& d : drivers) d.join();
  });
}

// A sleep here lasts until its bell rings: with a lost ring, each step would take the limit of the test.
TEST(Started, SeveralThreadsThatRestAreWokenByEveryMove) {
  constexpr double for_ever = 100;
  on_collectives(3, small_slots(), [](Collectives& c) {
    Rank rank(c);
    std::atomic<bool> over{false}, tests{false};
    std::thread tester([&] {
      while (!over) {
        if (tests) rank.started.drive();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    for (int step = 0; step < 60; ++step) {
      tests = step % 2 == 1;
      std::vector<std::unique_ptr<Sum>> all;
      for (std::size_t k = 0; k < 3; ++k) all.push_back(rank.start(1 + 700 * k, step));
      std::vector<std::thread> waiting;
      for (const auto& sum : all)
        waiting.emplace_back([&rank, &sum] {
          while (!sum->done())
            if (!rank.started.drive()) rank.started.rest(*sum, for_ever);
        });
      for (auto& w : waiting) w.join();
      for (const auto& sum : all) EXPECT_EQ(sum->out.back(), 3.0 * step);
    }
    over = true;
    tester.join();
  });
}

TEST(Started, AWaitThatIsGivenUpNamesWhoIsMissing) {
  on_collectives(2, small_slots(), [](Collectives& c) {
    Rank rank(c);
    if (c.rank() == 0) {
      rank.beside->group().patience().limit = 0.1;
      const auto sum = rank.start(100, 1);
      while (!sum->done())
        if (!rank.started.drive()) std::this_thread::yield();
      EXPECT_EQ(sum->status(), Status::timeout);
      EXPECT_NE(std::string(message()).find("for rank 1"), std::string::npos) << message();
    }
  });
}

// Time in which nobody drives is not time that a collective waits.
TEST(Started, AreNotGivenUpWhileNobodyDrives) {
  std::atomic<bool> came_back{false};
  on_collectives(2, small_slots(), [&](Collectives& c) {
    Rank rank(c);
    if (c.rank() == 0) {
      rank.beside->group().patience().limit = 2;
      const auto sum = rank.start(100, 1);
      rank.started.drive();
      std::this_thread::sleep_for(std::chrono::milliseconds(2200));
      rank.started.drive();
      EXPECT_FALSE(sum->done());
      came_back = true;
      rank.finish(*sum, 2);
    } else {
      while (!came_back) std::this_thread::yield();
      rank.finish(*rank.start(100, 1), 2);
    }
  });
}

// A blocking collective that fails ends the started ones, with its reason.
TEST(Started, EndWithTheGroupBeside) {
  on_collectives(2, small_slots(), [](Collectives& c) {
    Rank rank(c);
    if (c.rank() == 0) {
      const auto sum = rank.start(100, 1);
      while (!sum->done())
        if (!rank.started.drive()) std::this_thread::yield();
      EXPECT_EQ(sum->status(), Status::internal);
      EXPECT_STREQ(message(), "as it is told");
    } else {
      static_cast<void>(c.group().give_up_all(fail(Status::internal, std::string_view("as it is told"))));
    }
  });
}

}  // namespace
}  // namespace stretto::node
