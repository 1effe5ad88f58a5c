// One rank of several hosts calls differently, by the default options: every rank gets the message of the exchange of
// signatures, no result, and a communicator that still works. Shared by tests over an MPI and over UCX.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ranks.hpp"
#include "stretto/stretto_nonblocking.h"

namespace api_test {

// Calls drawn by `seed`, blocking and started. In some one rank differs: all ranks are told. Between calls each rank
// tests and waits by a draw of its own.
inline void run_drawn_calls(stretto_comm comm, int rank, int ranks, unsigned seed) {
  struct Started {
    stretto_request request = nullptr;
    std::vector<float> x, y;
    float wanted = 0, tolerance = 0, unused = -1;
    stretto_status expected = STRETTO_OK;
  };
  constexpr int calls = 60;
  constexpr std::size_t sizes[] = {1, 1000, 1025, 20000};
  stretto_options o = defaults();
  o.timeout = 60;  // reached only where a rank was told nothing
  std::minstd_rand all(seed + 1), own(1000 * seed + static_cast<unsigned>(rank) + 1);
  const auto draw = [](std::minstd_rand& from, unsigned n) { return static_cast<unsigned>(from() >> 8) % n; };
  const float sum = static_cast<float>(ranks * (ranks + 1)) / 2;
  std::vector<std::unique_ptr<Started>> open;
  const auto check = [&](stretto_status s, const Started& c) {
    ASSERT_EQ(s, c.expected) << stretto_message();
    const float wanted = c.expected == STRETTO_OK ? c.wanted : c.unused;
    for (const float value : c.y)
      ASSERT_LE(std::fabs(value - wanted), c.expected == STRETTO_OK ? c.tolerance : 0) << value << ", not " << wanted;
  };
  const auto wait = [&](std::size_t k) {
    const std::unique_ptr<Started> c = std::move(open[k]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
    check(stretto_wait(c->request), *c);
    EXPECT_EQ(stretto_request_free(&c->request), STRETTO_OK);
  };
  for (int k = 0; k < calls && !testing::Test::HasFailure(); ++k) {
    const unsigned kind = draw(all, 6), size = draw(all, 4), fault = draw(all, 8);
    const bool odd = static_cast<int>(draw(all, static_cast<unsigned>(ranks))) == rank;
    const bool starts = kind < 2;
    auto c = std::make_unique<Started>();
    const std::size_t n = sizes[size];
    c->x.assign(n + 1, static_cast<float>(rank + 1));
    c->y.assign(n, -1);
    float* const x = c->x.data();
    float* y = c->y.data();
    // 0: another length. 1: no buffer. 2: a barrier. 3: the other form. 4: another root or bound.
    const unsigned what = draw(all, 5), root = draw(all, static_cast<unsigned>(ranks));
    const bool wrong = ranks > 1 && fault < 5 && !(fault == 4 && what < 3);
    if (wrong) c->expected = fault == 1 ? STRETTO_INVALID_ARGUMENT : STRETTO_INCOMPATIBLE;
    const bool differs = odd && wrong;
    const std::size_t m = differs && fault == 0 ? n - 1 : n;
    stretto_options own_o = o;
    own_o.bound_kind = what == 4 ? STRETTO_BOUND_RELATIVE : STRETTO_BOUND_NONE;
    own_o.bound = what == 4 ? (differs && fault == 4 ? 1e-4 : 1e-3) : 0;
    const int from = static_cast<int>(differs && fault == 4 ? (root + 1) % static_cast<unsigned>(ranks) : root);
    c->tolerance = what == 4 ? 1e-3F * sum * static_cast<float>(ranks) : 0;
    if (what == 3) {
      c->wanted = static_cast<float>(root + 1);
      if (rank == static_cast<int>(root)) c->unused = c->wanted;
      c->y.assign(n, rank == static_cast<int>(root) ? c->wanted : -1);
      y = c->y.data();
    } else {
      c->wanted = sum;
    }
    if (differs && fault == 1) y = nullptr;
    if (differs && fault == 2) {
      check(stretto_barrier(comm, &o), *c);
    } else if (starts != (differs && fault == 3)) {
      const stretto_status s = what == 3
                                   ? stretto_ibcast(y, m, STRETTO_F32, from, comm, &own_o, &c->request)
                                   : stretto_iallreduce(x, y, m, STRETTO_F32, STRETTO_SUM, comm, &own_o, &c->request);
      ASSERT_EQ(s, STRETTO_OK) << stretto_message();
      open.push_back(std::move(c));
    } else {
      check(what == 3 ? stretto_bcast(y, m, STRETTO_F32, from, comm, &own_o)
                      : stretto_allreduce(x, y, m, STRETTO_F32, STRETTO_SUM, comm, &own_o),
            *c);
    }
    if (draw(all, 4) == 0) {
      ASSERT_EQ(stretto_barrier(comm, &o), STRETTO_OK) << stretto_message();
    }
    for (unsigned looks = draw(own, 4); looks > 0 && !open.empty(); --looks) {
      const std::size_t at = draw(own, static_cast<unsigned>(open.size()));
      int done = 0;
      if (draw(own, 3) == 0)
        wait(at);
      else
        static_cast<void>(stretto_test(open[at]->request, &done));
    }
  }
  while (!open.empty()) wait(draw(own, static_cast<unsigned>(open.size())));
}

class DifferingHosts {
 public:
  using Make = std::function<stretto_comm()>;

  // `make` is called on all ranks. `tell` lets hear(), on the last rank, return; no call of stretto's.
  DifferingHosts(int rank, int ranks, Make make, std::function<void()> tell, std::function<void()> hear)
      : rank_(rank), ranks_(ranks), make_(std::move(make)), tell_(std::move(tell)), hear_(std::move(hear)) {}

  // Each case, by each of three ranks.
  void run() {
    for (const bool in_memory : {false, true}) {
      stretto_comm comm = make(in_memory);
      for (const int odd : {0, 1, ranks_ - 1}) {
        if (odd == 1 && ranks_ == 2) continue;
        SCOPED_TRACE(testing::Message() << "rank " << odd << " of " << ranks_ << " differs");
        for (const Case& c : cases()) {
          SCOPED_TRACE(testing::Message() << c.name << (in_memory ? " in memory" : ""));
          for (int turn = 0; turn < 2; ++turn) run(c, odd, comm);
        }
      }
      EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
    }
  }

  // One rank does not come.
  void run_missing() {
    for (const int missing : {0, ranks_ - 1})
      for (const bool in_memory : {false, true})
        for (const bool starts : {false, true}) {
          SCOPED_TRACE(testing::Message() << "rank " << missing << " of " << ranks_ << " is missing");
          stretto_comm comm = make(in_memory);
          if (rank_ != missing) {
            stretto_options o = defaults();
            o.timeout = 0.1;
            std::vector<float> x(kFew, 1), y(kFew, kUnused);
            const Calls calls{x.data(), y.data(), comm, &o};
            EXPECT_EQ(starts ? started(calls) : calls.sum(kFew), STRETTO_TIMEOUT) << stretto_message();
            EXPECT_EQ(y, std::vector<float>(kFew, kUnused));
          }
          stretto_comm after = make_();  // waits for the missing rank
          EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
          EXPECT_EQ(stretto_comm_free(after), STRETTO_OK);
        }
  }

  // `check` differs on one rank: no call gets another's values, and all ranks learn why. `bcasts`: the root of an
  // unchecked bcast does not wait for other ranks.
  void run_unchecked(bool bcasts) {
    for (const int odd : {0, ranks_ - 1})
      for (const Form form : {Form::blocking, Form::prepared, Form::started}) {
        if (!bcasts && form != Form::started) continue;
        SCOPED_TRACE(testing::Message() << "form " << static_cast<int>(form) << ", rank " << odd << " differs");
        run_unchecked(odd, form);
      }
  }

  // A rank tests its started call until it returns, though the last rank comes only after that, and others wait in a
  // blocking form of the call.
  void run_tests_that_return() {
    stretto_comm comm = make(false);
    std::vector<float> x(kFew, 1), y(kFew, kUnused);
    for (const bool mixed : {true, false}) {
      stretto_options o = defaults();
      o.timeout = 60;
      const Calls calls{x.data(), y.data(), comm, &o};
      const bool late = rank_ == ranks_ - 1, blocks = mixed && rank_ > 0;
      if (late) hear_();
      stretto_request request = nullptr;
      stretto_status s = STRETTO_OK;
      if (blocks) {
        s = calls.sum(kFew);
      } else {
        ASSERT_EQ(stretto_iallreduce(x.data(), y.data(), kFew, STRETTO_F32, STRETTO_SUM, comm, &o, &request),
                  STRETTO_OK);
        for (int k = 0, done = 0; rank_ == 0 && k < 100; ++k) {
          EXPECT_EQ(stretto_test(request, &done), STRETTO_OK);
          EXPECT_EQ(done, 0);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (rank_ == 0) tell_();
        s = stretto_wait(request);
        EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
      }
      EXPECT_EQ(s, mixed ? STRETTO_INCOMPATIBLE : STRETTO_OK) << stretto_message();
    }
    EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  }

  // Drawn calls, equal on all ranks but for a rank that differs in some; each rank tests and waits as it likes.
  void run_drawn(unsigned seeds = 8) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      stretto_comm comm = make(seed % 2 != 0);
      run_drawn_calls(comm, rank_, ranks_, seed);
      EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
    }
  }

 private:
  enum class Form { blocking, prepared, started };

  // The odd rank is the root of an unchecked bcast, which waits for no other, or starts an unchecked sum; then all make
  // equal checked calls.
  void run_unchecked(int odd, Form form) const {
    stretto_comm comm = make(false);
    stretto_options checked = defaults();
    checked.timeout = 60;
    if (form == Form::started) checked.schedule = "recursive_doubling";  // an MPI's sum may write before it ends
    stretto_options unchecked = checked;
    unchecked.check = 0;
    if (form == Form::prepared)
      for (const stretto_options* o : {&unchecked, &checked})
        for (int turn = 0; turn < 2; ++turn) {
          std::vector<float> x(kFew, rank_ == odd ? 1 : kUnused);
          EXPECT_EQ(stretto_bcast(x.data(), kFew, STRETTO_F32, odd, comm, o), STRETTO_OK) << stretto_message();
          EXPECT_EQ(x, std::vector<float>(kFew, 1));
        }
    const stretto_options& first = rank_ == odd ? unchecked : checked;
    std::vector<float> x(kFew, 1), y(kFew, kUnused), z(kFew, kUnused);
    stretto_request request = nullptr;
    if (form == Form::started) {
      EXPECT_EQ(stretto_iallreduce(x.data(), y.data(), kFew, STRETTO_F32, STRETTO_SUM, comm, &first, &request),
                STRETTO_OK);
      if (rank_ != odd) {
        EXPECT_EQ(stretto_wait(request), STRETTO_INCOMPATIBLE) << stretto_message();
      }
    } else {
      if (rank_ == odd) y = x;
      EXPECT_EQ(stretto_bcast(y.data(), kFew, STRETTO_F32, odd, comm, &first),
                rank_ == odd ? STRETTO_OK : STRETTO_INCOMPATIBLE)
          << stretto_message();
    }
    if (rank_ == odd) {
      const stretto_status s =
          form == Form::started ? stretto_allreduce(x.data(), z.data(), kFew, STRETTO_F32, STRETTO_SUM, comm, &checked)
                                : stretto_bcast(z.data(), kFew, STRETTO_F32, odd, comm, &checked);
      EXPECT_EQ(s, STRETTO_INCOMPATIBLE) << stretto_message();
      EXPECT_EQ(z, std::vector<float>(kFew, kUnused));
    }
    const std::string said = stretto_message();
    const char* const cause = "number of unchecked calls before this one differs: ";
    EXPECT_NE(said.find(cause), std::string::npos) << said;
    if (rank_ != odd || form == Form::started) {
      EXPECT_EQ(y, std::vector<float>(kFew, kUnused));
    }
    if (rank_ == odd && request != nullptr) {
      EXPECT_EQ(stretto_wait(request), STRETTO_INCOMPATIBLE) << stretto_message();
    }
    EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), kFew, STRETTO_F32, STRETTO_SUM, comm, &checked), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()).find(cause), std::string::npos) << stretto_message();
    EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  }

  static constexpr std::size_t kFew = 10, kRoom = 30000;
  static constexpr float kUnused = -77;

  struct Calls {
    float *x, *y;
    stretto_comm comm;
    const stretto_options* o;

    stretto_status sum(std::size_t n, stretto_op op = STRETTO_SUM) const {
      return stretto_allreduce(x, y, n, STRETTO_F32, op, comm, o);
    }
    stretto_status reduce(std::size_t n, int root) const {
      return stretto_reduce(x, y, n, STRETTO_F32, STRETTO_SUM, root, comm, o);
    }
  };

  struct Case {
    const char* name;
    std::function<stretto_status(const Calls&)> usual, odd;
    stretto_status status;
    std::vector<std::string> said;
  };

  static stretto_status begun(const Calls& c, bool polls) {
    stretto_request request = nullptr;
    stretto_status s = stretto_iallreduce(c.x, c.y, kFew, STRETTO_F32, STRETTO_SUM, c.comm, c.o, &request);
    for (int done = 0; polls && s == STRETTO_OK && done == 0;) s = stretto_test(request, &done);
    if (!polls && s == STRETTO_OK) s = stretto_wait(request);
    EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
    return s;
  }
  static stretto_status started(const Calls& c) { return begun(c, false); }

  stretto_comm make(bool in_memory) const {
    stretto_comm comm = make_();
    stretto_options o = defaults();
    o.timeout = 60;
    if (in_memory) o.schedule = "node";
    // Twice, so that the call is a prepared one. Where each host has one rank, there is no memory.
    std::vector<float> x(kFew, 1), y(kFew);
    stretto_report report = STRETTO_REPORT_INIT;
    o.report = &report;
    for (int turn = 0; turn < 2; ++turn) {
      const stretto_status s = stretto_allreduce(x.data(), y.data(), kFew, STRETTO_F32, STRETTO_SUM, comm, &o);
      EXPECT_TRUE(s == STRETTO_OK || (in_memory && s == STRETTO_UNSUPPORTED)) << stretto_message();
      if (in_memory) continue;
      EXPECT_STREQ(report.reason, "agreement") << "the ranks are on one host";
    }
    return comm;
  }

  std::vector<Case> cases() const {
    const auto few_summed = [](const Calls& c) { return c.sum(kFew); };
    const auto tested = [](const Calls& c) { return begun(c, true); };
    const auto started_twice = [](const Calls& c) {
      std::array<stretto_request, 2> requests{};
      for (stretto_request& r : requests)
        EXPECT_EQ(stretto_iallreduce(c.x, c.y, kFew, STRETTO_F32, STRETTO_SUM, c.comm, c.o, &r), STRETTO_OK);
      stretto_status s = STRETTO_OK;
      for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
        s = stretto_wait(requests[k]);
        EXPECT_EQ(s, STRETTO_INCOMPATIBLE) << stretto_message();
      }
      for (stretto_request& r : requests) EXPECT_EQ(stretto_request_free(&r), STRETTO_OK);
      return s;
    };
    const auto bounded_sum = [](double bound) {
      return [bound](const Calls& c) {
        stretto_options o = *c.o;
        o.bound_kind = STRETTO_BOUND_RELATIVE;
        o.bound = bound;
        return stretto_allreduce(c.x, c.y, kRoom, STRETTO_F32, STRETTO_SUM, c.comm, &o);
      };
    };
    const stretto_status differs = STRETTO_INCOMPATIBLE, wrong = STRETTO_INVALID_ARGUMENT;
    const int last = ranks_ - 1;
    return {
        {"count",
         few_summed,
         [](const Calls& c) { return c.sum(kFew + 1); },
         differs,
         {"count differs", "10 on rank", "11 on rank"}},
        {"a long vector",
         few_summed,
         [](const Calls& c) { return c.sum(kRoom); },
         differs,
         {"count differs", "10 on rank", "30000 on rank"}},
        {"two long vectors",
         [](const Calls& c) { return c.sum(kRoom - 1); },
         [](const Calls& c) { return c.sum(kRoom); },
         differs,
         {"count differs", "29999 on rank", "30000 on rank"}},
        {"operation",
         few_summed,
         [](const Calls& c) { return c.sum(kFew, STRETTO_MAX); },
         differs,
         {"operation differs", "sum on rank", "max on rank"}},
        {"barrier",
         few_summed,
         [](const Calls& c) { return stretto_barrier(c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "barrier on rank"}},
        {"bcast",
         few_summed,
         [](const Calls& c) { return stretto_bcast(c.y, kFew, STRETTO_F32, 0, c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "bcast on rank"}},
        {"alltoall",
         few_summed,
         [](const Calls& c) { return stretto_alltoall(c.x, c.y, kFew, STRETTO_F32, c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "alltoall on rank"}},
        {"root",
         [](const Calls& c) { return c.reduce(kFew, 0); },
         [last](const Calls& c) { return c.reduce(kFew, last); },
         differs,
         {"root differs", "0 on rank", std::to_string(last) + " on rank"}},
        {"root of bcast",
         [](const Calls& c) { return stretto_bcast(c.y, kFew, STRETTO_F32, 0, c.comm, c.o); },
         [last](const Calls& c) { return stretto_bcast(c.y, kFew, STRETTO_F32, last, c.comm, c.o); },
         differs,
         {"root differs"}},
        {"nothing to broadcast",
         [](const Calls& c) { return stretto_bcast(c.y, kFew, STRETTO_F32, 0, c.comm, c.o); },
         [](const Calls& c) { return stretto_bcast(nullptr, kFew, STRETTO_F32, 0, c.comm, c.o); },
         wrong,
         {"is NULL"}},
        {"nothing to sum",
         few_summed,
         [](const Calls& c) { return stretto_allreduce(nullptr, c.y, kFew, STRETTO_F32, STRETTO_SUM, c.comm, c.o); },
         wrong,
         {"sendbuf is NULL"}},
        {"no such type",
         few_summed,
         [](const Calls& c) {
           return stretto_allreduce(c.x, c.y, kFew, static_cast<stretto_type>(99), STRETTO_SUM, c.comm, c.o);
         },
         wrong,
         {"99"}},
        {"bound", bounded_sum(1e-3), bounded_sum(1e-4), differs, {"bound differs", "0.001 on rank", "0.0001 on rank"}},
        {"bound or none",
         few_summed,
         bounded_sum(1e-4),
         differs,
         {"bound_kind differs", "none on rank", "relative on rank"}},
        {"no buffer",
         few_summed,
         [](const Calls& c) { return stretto_allreduce(c.x, nullptr, kFew, STRETTO_F32, STRETTO_SUM, c.comm, c.o); },
         wrong,
         {"recvbuf is NULL with 10 elements"}},
        {"no values",
         bounded_sum(1e-3),
         [](const Calls& c) { return stretto_allreduce(nullptr, c.y, kRoom, STRETTO_F32, STRETTO_SUM, c.comm, c.o); },
         wrong,
         {"sendbuf is NULL"}},
        {"form", few_summed, started, differs, {"collective differs", "iallreduce on rank", "allreduce on rank"}},
        {"form of most",
         tested,
         few_summed,
         differs,
         {"collective differs", "iallreduce on rank", "allreduce on rank"}},
        {"two started",
         [](const Calls& c) {
           EXPECT_EQ(c.sum(kFew), STRETTO_INCOMPATIBLE);
           return c.sum(kFew);
         },
         started_twice,
         differs,
         {"collective differs", "iallreduce on rank", "allreduce on rank"}},
        {"two started by most",
         started_twice,
         [](const Calls& c) {
           EXPECT_EQ(c.sum(kFew), STRETTO_INCOMPATIBLE);
           return c.sum(kRoom);
         },
         differs,
         {"collective differs", "iallreduce on rank", "allreduce on rank"}},
    };
  }

  void run(const Case& c, int odd, stretto_comm comm) const {
    stretto_options o = defaults();
    o.timeout = 60;  // reached only where a rank was told nothing
    std::vector<float> x(kRoom, 1), y(kRoom, kUnused);
    const Calls calls{x.data(), y.data(), comm, &o};
    EXPECT_EQ((rank_ == odd ? c.odd : c.usual)(calls), c.status) << stretto_message();
    for (const std::string& text : c.said)
      EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos)
          << "message: " << stretto_message() << "\nwants: " << text;
    EXPECT_EQ(y, std::vector<float>(kRoom, kUnused));
    EXPECT_EQ(calls.sum(kFew), STRETTO_OK) << stretto_message();
    EXPECT_EQ(y[kFew - 1], static_cast<float>(ranks_));
    EXPECT_EQ(calls.sum(kRoom), STRETTO_OK) << stretto_message();
    EXPECT_EQ(y[kRoom - 1], static_cast<float>(ranks_));
  }

  const int rank_, ranks_;
  const Make make_;
  const std::function<void()> tell_, hear_;
};

}  // namespace api_test
