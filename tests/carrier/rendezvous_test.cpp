// Ranks meet in a store: a directory, one in memory, and one that fails; with leftovers of an earlier program; and
// ranks that differ.
#include "carrier/rendezvous.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "base/interrupt.hpp"
#include "carrier/directory_store.hpp"

using namespace stretto;
using namespace stretto::carrier;

namespace {

// Shared by ranks that are threads.
class Memory final : public Store {
 public:
  Status set(const std::string& key, std::string_view value) override {
    if (--until_failure_ == 0) return fail(Status::internal, "the store cannot set {}", key);
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    if (key.find("/hello/") != key.npos) {
      ++hellos_;
      last_hello_ = value;
    }
    return Status::ok;
  }
  Status get(const std::string& key, double, std::string* value) override {
    std::this_thread::sleep_for(delay_);
    if (!hidden_.empty() && key.find(hidden_) != std::string::npos && std::chrono::steady_clock::now() < hidden_until_)
      return fail(Status::timeout, "no {}", key);
    if (!failing_.empty() && key.find(failing_) != std::string::npos)
      return fail(Status::internal, "the store cannot get {}", key);
    if (!lie_about_.empty() && key.find(lie_about_) != std::string::npos) {
      *value = lie_;
      return Status::ok;
    }
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    if (at == values_.end() || hellos_ < awaited_) return fail(Status::timeout, "no {}", key);
    *value = at->second;
    return Status::ok;
  }
  Status remove(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
    return Status::ok;
  }
  std::string keys() {
    std::string all;
    for (const auto& [key, value] : values_) all += key + " ";
    return all;
  }
  const std::string& last_hello() const { return last_hello_; }
  void fail_at(int set) { until_failure_ = set; }
  void fail_to_get(const std::string& part) { failing_ = part; }
  void lie(const std::string& part, const std::string& value) { lie_about_ = part, lie_ = value; }
  void hide(const std::string& part, std::chrono::milliseconds time) {
    hidden_ = part, hidden_until_ = std::chrono::steady_clock::now() + time;
  }
  void delay(std::chrono::milliseconds delay) { delay_ = delay; }  // whatever is asked
  void await_hellos(int n) { awaited_ = n; }                       // nobody sees anything before so many were left

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::atomic<int> until_failure_{0};
  int hellos_ = 0, awaited_ = 0;
  std::string last_hello_, failing_, lie_about_, lie_, hidden_;
  std::chrono::steady_clock::time_point hidden_until_;
  std::chrono::milliseconds delay_{0};
};

struct Outcome {
  Status status = Status::ok;
  std::string text;
  Session session;
};

Participant rank(int r, int size, const std::string& version = "1.2.3") {
  return {"job", r, size, version, "address of " + std::to_string(r), {}};
}

std::vector<Outcome> meet(Store& store, const std::vector<Participant>& all, double seconds = 20) {
  std::vector<Outcome> outcomes(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      outcomes[i].status = meet_in(store, all[i], seconds, &outcomes[i].session);
      if (outcomes[i].status != Status::ok) outcomes[i].text = message();
    });
  for (auto& t : threads) t.join();
  return outcomes;
}

// The hello of a rank that ends before the others come.
std::string hello_of(const Participant& one) {
  Memory store;
  static_cast<void>(meet(store, {one}, 0.01));
  return store.last_hello();
}

std::vector<Participant> ranks(int n) {
  std::vector<Participant> all;
  for (int r = 0; r < n; ++r) all.push_back(rank(r, n));
  return all;
}

void expect_met(const std::vector<Outcome>& all) {
  for (const Outcome& o : all) {
    ASSERT_EQ(o.status, Status::ok) << o.text;
    EXPECT_EQ(o.session.id, all[0].session.id);
    EXPECT_EQ(o.session.secret, all[0].session.secret);
    ASSERT_EQ(o.session.members.size(), all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      EXPECT_EQ(o.session.members[r].address, "address of " + std::to_string(r));
      EXPECT_EQ(o.session.members[r].pid, getpid());
    }
  }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Events with a limit are late on a machine that stalls, so the attempt repeats with longer limits.
template <class Attempt>
void expect_within(double limit, Attempt attempt) {
  testing::AssertionResult result = attempt(limit);
  for (int again = 0; !result && again < 3; ++again) result = attempt(limit *= 4);
  EXPECT_TRUE(result);
}

struct Directory {
  Directory() {
    char name[] = "/tmp/stretto-store-XXXXXX";
    path = mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST(Rendezvous, RanksLearnWhereAllAreAndLeaveNothing) {
  for (const int n : {1, 2, 3, 5, 9}) {
    SCOPED_TRACE(n);
    Memory store;
    const auto all = meet(store, ranks(n));
    expect_met(all);
    clean_up(store, all[0].session);
    EXPECT_EQ(store.keys(), "");
  }
}

TEST(Rendezvous, WhatAnEarlierProgramLeftIsToldFromThisOnes) {
  Memory store;
  // Leftovers of a program that ended at its beginning, and of one that met and left everything.
  EXPECT_EQ(meet(store, {rank(1, 3), rank(2, 3)}, 0.1)[0].status, Status::timeout);
  auto first = meet(store, ranks(3));
  expect_met(first);
  ASSERT_EQ(store.set("stretto/job/hello/1", hello_of(rank(1, 3))), Status::ok);  // of a process that has ended
  // Rank 1 comes when rank 0 has taken the stale hello for it.
  std::vector<Outcome> again(3);
  std::vector<std::thread> threads;
  for (const int r : {0, 2, 1}) {
    if (r == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    threads.emplace_back([&, r] {
      again[std::size_t(r)].status = meet_in(store, rank(r, 3), 20, &again[std::size_t(r)].session);
      again[std::size_t(r)].text = message();
    });
  }
  for (auto& t : threads) t.join();
  expect_met(again);
  EXPECT_NE(again[0].session.id, first[0].session.id);
  clean_up(store, again[0].session);
  clean_up(store, first[0].session);
  EXPECT_EQ(store.keys(), "");
}

TEST(Rendezvous, RanksThatDoNotComeAreNamedOnAll) {
  expect_within(0.3, [](double limit) {
    Memory store;
    const std::string missing = fmt::format("did not come within {} s: 1, 3", limit);
    testing::AssertionResult named = testing::AssertionSuccess();
    for (const Outcome& o : meet(store, {rank(0, 5), rank(2, 5), rank(4, 5)}, limit)) {
      EXPECT_EQ(o.status, Status::timeout);
      if (!contains(o.text, missing)) named = testing::AssertionFailure() << o.text;
    }
    return named;
  });
}

TEST(Rendezvous, OneWithoutRankZeroEnds) {
  Memory store;
  const auto all = meet(store, {rank(1, 2)}, 0.1);
  EXPECT_EQ(all[0].status, Status::timeout);
  EXPECT_TRUE(contains(all[0].text, "rank 0 did not begin")) << all[0].text;
  EXPECT_EQ(store.keys(), "");
}

TEST(Rendezvous, ARankThatIsInterruptedEndsAndLeavesNothing) {
  interrupt_by({[](void*) { return 1; }, nullptr});
  for (int r : {0, 1}) {
    Memory store;
    Session session;
    EXPECT_EQ(meet_in(store, rank(r, 2), 20, &session), Status::timeout);
    EXPECT_TRUE(contains(message(), "interrupted: rank " + std::to_string(r) + " waited for ")) << message();
    EXPECT_EQ(store.keys(), "");
  }
  interrupt_by({});
}

TEST(Rendezvous, RanksThatDifferAreRefusedOnAllWithBothValues) {
  for (const bool version : {true, false}) {
    Memory store;
    const auto all = meet(store, {rank(0, 3), rank(1, 3), version ? rank(2, 3, "4.5.6") : rank(2, 4)});
    for (const Outcome& o : all) {
      EXPECT_EQ(o.status, Status::incompatible);
      EXPECT_TRUE(
          contains(o.text, version ? "of stretto 4.5.6, rank 0 of 1.2.3" : "is one of 4 ranks, rank 0 one of 3"))
          << o.text;
    }
  }
}

TEST(Rendezvous, ARankThatCannotTakePartIsToldToAll) {
  Memory store;
  auto all = ranks(3);
  all[1].failure = "it has no UCX";
  for (const Outcome& o : meet(store, all)) {
    EXPECT_EQ(o.status, Status::unsupported);
    EXPECT_TRUE(contains(o.text, "rank 1 (process ") && contains(o.text, "cannot take part: it has no UCX")) << o.text;
  }
}

// As a job that was ended while it met, before one of another size or version.
TEST(Rendezvous, StaleHellosOfAnotherSizeAndVersionRefuseNobody) {
  Memory store;
  for (const int r : {1, 2, 3}) {
    ASSERT_EQ(store.set("stretto/job/hello/" + std::to_string(r), hello_of(rank(r, 4, "0.0.1"))), Status::ok);
  }
  std::vector<Outcome> all(2);
  std::thread first([&] { all[0].status = meet_in(store, rank(0, 2), 20, &all[0].session); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // rank 0 has taken the stale hello
  all[1].status = meet_in(store, rank(1, 2), 20, &all[1].session);
  first.join();
  expect_met(all);
}

TEST(Rendezvous, TwoProcessesOfOneRankNeverMeet) {
  for (const int twice : {0, 1, 2})
    expect_within(1.5, [twice](double limit) {
      Memory store;
      store.await_hellos(4);
      auto all = ranks(3);
      all.push_back(rank(twice, 3));
      int told = 0, met = 0;
      for (const Outcome& o : meet(store, all, limit)) {
        told += contains(o.text, fmt::format("rank {} is both process", twice)) ? 1 : 0;
        met += o.status == Status::ok ? 1 : 0;
      }
      EXPECT_LE(met, 3) << "rank " << twice << " twice";
      // All are refused, or, where three had met before the fourth was noticed, that one.
      const bool never = told >= 1 && (met == 0 || met == 3);
      return (never ? testing::AssertionSuccess() : testing::AssertionFailure())
             << "rank " << twice << " twice, within " << limit << " s: " << told << " told, " << met << " met";
    });
}

TEST(Rendezvous, AStoreThatFailsIsAnErrorAndNoWait) {
  for (const int set : {1, 2, 3, 4})
    expect_within(0.3, [set](double limit) {
      Memory store;
      store.fail_at(set);
      int failed = 0;
      for (const Outcome& o : meet(store, ranks(2), limit))
        failed += contains(o.text, "the store cannot set stretto/job/") ? 1 : 0;
      return (failed == 1 ? testing::AssertionSuccess() : testing::AssertionFailure())
             << failed << " failed at value " << set << " within " << limit << " s";
    });
}

TEST(Rendezvous, AStoreThatCannotGetIsAnErrorThatNamesTheKey) {
  for (const std::string key : {"/hello/1", "/session", "/ready/", "/conflict", "/go/"})
    expect_within(0.3, [&key](double limit) {
      Memory store;
      store.fail_to_get(key);
      int failed = 0;
      const auto all = meet(store, ranks(2), limit);
      for (std::size_t r = 0; r < all.size(); ++r) {
        // Rank 0 reads nothing after the others said that they are ready, so it may take them for met then.
        EXPECT_TRUE(all[r].status != Status::ok || (r == 0 && key == "/go/")) << key;
        failed += contains(all[r].text, "the store cannot get stretto/job" + key) ? 1 : 0;
      }
      return (failed >= 1 ? testing::AssertionSuccess() : testing::AssertionFailure())
             << "nobody failed at " << key << " within " << limit << " s";
    });
}

// Malformed values. Rank 0 does not read its own final value, so it alone may consider the ranks met.
TEST(Rendezvous, AStoreThatLiesIsNoMeeting) {
  const std::string cut = "20:stretto rendezvous 1,5:1.2.", huge = "99999999999999999999:x,";
  std::vector<std::thread> threads;  // each lie has to wait for the limit
  for (const std::string key : {"/hello/0", "/hello/1", "/session", "/go/"})
    for (const std::string& value : {std::string("no value"), cut, huge, std::string()})
      threads.emplace_back([key, value] {
        SCOPED_TRACE(key + " is '" + value + "'");
        const bool last = key == "/go/";
        expect_within(0.2, [&](double limit) {
          Memory store;
          store.lie(key, value);
          const auto all = meet(store, ranks(3), limit);
          testing::AssertionResult as_it_should = testing::AssertionSuccess();
          for (std::size_t r = last ? 1 : 0; r < all.size(); ++r) {
            EXPECT_NE(all[r].status, Status::ok) << all[r].text;
            if (all[r].status != (last ? Status::internal : Status::timeout) ||
                (last && !contains(all[r].text, "rank 0 said '" + value + "'")))
              as_it_should = testing::AssertionFailure() << "rank " << r << ": " << all[r].text;
          }
          const std::string missing = fmt::format("did not come within {} s: 1", limit);
          if (key == "/hello/1" && !contains(all[0].text, missing))
            as_it_should = testing::AssertionFailure() << "rank 0: " << all[0].text;
          return as_it_should;
        });
      });
  for (auto& t : threads) t.join();
}

TEST(Rendezvous, AStoreThatAnswersLateDelaysButEnds) {
  for (const double limit : {20.0, 0.05}) {
    Memory store;
    store.delay(std::chrono::milliseconds(20));
    const auto all = meet(store, ranks(3), limit);
    if (limit > 1)
      expect_met(all);
    else
      for (const Outcome& o : all) EXPECT_TRUE(o.status == Status::timeout || o.status == Status::ok) << o.text;
  }
}

TEST(Rendezvous, ARankThatComesAtTheEndOfTheLimitHasTimeToConfirm) {
  expect_within(0.5, [](double limit) {
    Memory store;
    store.hide("/ready/", std::chrono::milliseconds(static_cast<long>(limit * 1e3) + 100));
    const auto all = meet(store, ranks(2), limit);
    const bool met = all[0].status == Status::ok && all[1].status == Status::ok;
    return (met ? testing::AssertionSuccess() : testing::AssertionFailure()) << all[0].text << " / " << all[1].text;
  });
}

TEST(Rendezvous, ARankThatIsNoneIsNamed) {
  Memory store;
  Session session;
  for (const auto& [r, n] : {std::pair(-1, 2), std::pair(2, 2), std::pair(0, 0)}) {
    EXPECT_EQ(meet_in(store, rank(r, n), 1, &session), Status::invalid_argument);
    EXPECT_EQ(message(), fmt::format("rank {} of {} ranks", r, n));
  }
}

TEST(DirectoryStore, HoldsValuesUntilTheyAreRemoved) {
  const Directory directory;
  std::unique_ptr<Store> store, other;
  ASSERT_EQ(open_directory_store("file://" + directory.path + "/made", &store), Status::ok) << message();
  ASSERT_EQ(open_directory_store("file://" + directory.path + "/made", &other), Status::ok) << message();
  std::string value;
  EXPECT_EQ(store->get("a/b", 0, &value), Status::timeout);
  const std::string binary("\0\1\n,", 4);
  ASSERT_EQ(store->set("a/b", binary), Status::ok) << message();
  EXPECT_EQ(other->get("a/b", 0, &value), Status::ok);
  EXPECT_EQ(value, binary);
  ASSERT_EQ(store->set("a/b", ""), Status::ok);
  EXPECT_EQ(other->get("a/b", 0, &value), Status::ok);
  EXPECT_EQ(value, "");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ASSERT_EQ(other->set("later", "now"), Status::ok);
  });
  EXPECT_EQ(store->get("later", 20, &value), Status::ok);
  later.join();
  EXPECT_EQ(value, "now");
  EXPECT_EQ(store->remove("later"), Status::ok);
  EXPECT_EQ(store->remove("later"), Status::ok);
  EXPECT_EQ(store->remove("a/b"), Status::ok);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path + "/made"));
}

TEST(DirectoryStore, RanksMeetInOne) {
  const Directory directory;
  std::unique_ptr<Store> store;
  ASSERT_EQ(open_directory_store("file://" + directory.path, &store), Status::ok) << message();
  const auto all = meet(*store, ranks(4));
  expect_met(all);
  clean_up(*store, all[0].session);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path));
}

TEST(DirectoryStore, WhatIsNoneIsNamed) {
  const Directory directory;
  std::unique_ptr<Store> store;
  std::ofstream(directory.path + "/file") << "text";
  for (const std::string& url :
       {std::string(), std::string("/tmp"), std::string("file://here"), std::string("tcp://host:1"),
        "file://" + directory.path + "/no/such", "file://" + directory.path + "/file"}) {
    EXPECT_EQ(open_directory_store(url, &store), Status::invalid_argument) << url;
    EXPECT_TRUE(contains(message(), url.rfind("file:///", 0) == 0 ? url.substr(7) : "'" + url + "'")) << message();
  }
}
