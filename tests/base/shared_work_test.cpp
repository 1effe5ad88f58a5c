#include "base/shared_work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace stretto {
namespace {

struct Counted {
  std::vector<std::atomic<int>> times;
  std::atomic<int> by_others{0};
  std::thread::id owner = std::this_thread::get_id();

  explicit Counted(int n) : times(static_cast<std::size_t>(n)) {}
  static void part(void* arg, int i) {
    auto& c = *static_cast<Counted*>(arg);
    ++c.times[static_cast<std::size_t>(i)];
    if (std::this_thread::get_id() != c.owner) ++c.by_others;
  }
  void each_once() const {
    for (const auto& n : times) EXPECT_EQ(n, 1);
  }
};

TEST(SharedWork, is_done_by_its_owner_where_nobody_helps) {
  SharedWork work;
  for (const int n : {0, 1, 7}) {
    Counted c(n);
    bool woken = false;
    work.run(n, Counted::part, &c, [&] { woken = true; });
    c.each_once();
    EXPECT_EQ(c.by_others, 0);
    EXPECT_TRUE(woken);
  }
  EXPECT_FALSE(work.help());
}

TEST(SharedWork, is_had_once_by_the_time_that_others_are_called) {
  SharedWork work;
  Counted c(3);
  work.run(3, Counted::part, &c, [&] { EXPECT_TRUE(work.help()); });
  c.each_once();
}

// The owner's parts end when a helper has done one.
TEST(SharedWork, is_shared_with_those_who_help) {
  SharedWork work;
  std::atomic<bool> ends{false};
  std::vector<std::thread> helpers;
  for (int i = 0; i < 3; ++i)
    helpers.emplace_back([&] {
      while (!ends)
        if (!work.help()) std::this_thread::yield();
    });
  for (int round = 0; round < 200; ++round) {
    struct Meeting : Counted {
      using Counted::Counted;
      static void wait_for_others(void* arg, int i) {
        auto& m = *static_cast<Meeting*>(arg);
        part(static_cast<Counted*>(&m), i);
        while (m.by_others == 0) std::this_thread::yield();
      }
    } c(5);
    work.run(5, Meeting::wait_for_others, &c, [] {});
    c.each_once();
    EXPECT_GE(c.by_others, 1);
  }
  ends = true;
  for (auto& h : helpers) h.join();
}

TEST(SharedWork, of_two_owners_at_once_is_done_each_once) {
  SharedWork work;
  std::atomic<bool> ends{false};
  std::thread helper([&] {
    while (!ends)
      if (!work.help()) std::this_thread::yield();
  });
  const auto owner = [&] {
    for (int round = 0; round < 2000; ++round) {
      Counted c(4);
      work.run(4, Counted::part, &c, [] {});
      c.each_once();
    }
  };
  std::thread other(owner);
  owner();
  other.join();
  ends = true;
  helper.join();
}

}  // namespace
}  // namespace stretto
