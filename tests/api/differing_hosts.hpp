// One rank of several hosts calls differently, by the default options: every rank gets the message of the exchange of
// signatures, no result, and a communicator that still works. Shared by tests over an MPI and over UCX.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "stretto/stretto_nonblocking.h"

namespace api_test {

class DifferingHosts {
 public:
  using Make = std::function<stretto_comm()>;

  // The host of each rank is named before `make` is called on all of them.
  DifferingHosts(int rank, int ranks, Make make) : rank_(rank), ranks_(ranks), make_(std::move(make)) {}

  // `layouts`: how many ways to place the ranks are tried.
  void run(std::size_t layouts = 4) {
    const std::vector<std::pair<const char*, std::function<int(int)>>> all{
        {"one, and all others", [](int r) { return r == 0 ? 0 : 1; }},
        {"a host each", [](int r) { return r; }},
        {"two a host", [](int r) { return r / 2; }},
        {"by turns on two", [](int r) { return r % 2; }}};
    for (std::size_t layout = 0; layout < layouts; ++layout) {
      SCOPED_TRACE(all[layout].first);
      setenv("STRETTO_HOST", ("host" + std::to_string(all[layout].second(rank_))).c_str(), 1);
      for (const bool in_memory : {false, true}) {
        stretto_comm comm = make(in_memory);
        for (const int odd : {0, 1, ranks_ - 1}) {
          if (odd == 1 && ranks_ == 2) continue;
          SCOPED_TRACE(testing::Message() << "rank " << odd << " of " << ranks_ << " differs");
          for (const Case& c : cases()) {
            SCOPED_TRACE(testing::Message() << c.name << (in_memory ? " in memory" : ""));
            stretto_comm own = in_memory && c.ends_memory ? make(true) : nullptr;
            for (int turn = 0; turn < 2; ++turn) run(c, odd, own ? own : comm);
            if (own) {
              EXPECT_EQ(stretto_comm_free(own), STRETTO_OK);
            }
          }
        }
        EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
      }
    }
    unsetenv("STRETTO_HOST");
  }

  // One rank does not come.
  void run_missing() {
    setenv("STRETTO_HOST", ("host" + std::to_string(rank_ / 2)).c_str(), 1);
    for (const int missing : {0, ranks_ - 1})
      for (const bool in_memory : {false, true}) {
        SCOPED_TRACE(testing::Message() << "rank " << missing << " of " << ranks_ << " is missing");
        stretto_comm comm = make(in_memory);
        if (rank_ != missing) {
          stretto_options o = defaults();
          o.timeout = 0.5;
          std::vector<float> x(few, 1), y(few, unused);
          EXPECT_EQ(stretto_allreduce(x.data(), y.data(), few, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_TIMEOUT)
              << stretto_message();
          EXPECT_EQ(y, std::vector<float>(few, unused));
        }
        stretto_comm after = make_();  // waits for the missing rank
        EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
        EXPECT_EQ(stretto_comm_free(after), STRETTO_OK);
      }
    unsetenv("STRETTO_HOST");
  }

 private:
  static constexpr std::size_t few = 10, room = 30000;
  static constexpr float unused = -77;

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
    bool ends_memory = false;  // of hosts
  };

  stretto_comm make(bool in_memory) const {
    stretto_comm comm = make_();
    stretto_options o = defaults();
    o.timeout = 60;
    if (in_memory) o.schedule = "node";
    // Twice, so that the call is a prepared one. Where each host has one rank, there is no memory.
    std::vector<float> x(few, 1), y(few);
    for (int turn = 0; turn < 2; ++turn) {
      const stretto_status s = stretto_allreduce(x.data(), y.data(), few, STRETTO_F32, STRETTO_SUM, comm, &o);
      EXPECT_TRUE(s == STRETTO_OK || (in_memory && s == STRETTO_UNSUPPORTED)) << stretto_message();
    }
    return comm;
  }

  std::vector<Case> cases() const {
    const auto few_summed = [](const Calls& c) { return c.sum(few); };
    const auto begun = [](const Calls& c, bool polls) {
      stretto_request request = nullptr;
      stretto_status s = stretto_iallreduce(c.x, c.y, few, STRETTO_F32, STRETTO_SUM, c.comm, c.o, &request);
      for (int done = 0; polls && s == STRETTO_OK && done == 0;) s = stretto_test(request, &done);
      if (!polls && s == STRETTO_OK) s = stretto_wait(request);
      EXPECT_EQ(stretto_request_free(&request), STRETTO_OK);
      return s;
    };
    const auto started = [begun](const Calls& c) { return begun(c, false); };
    const auto tested = [begun](const Calls& c) { return begun(c, true); };
    const auto bounded_sum = [](double bound) {
      return [bound](const Calls& c) {
        stretto_options o = *c.o;
        o.bound_kind = STRETTO_BOUND_RELATIVE;
        o.bound = bound;
        return stretto_allreduce(c.x, c.y, room, STRETTO_F32, STRETTO_SUM, c.comm, &o);
      };
    };
    const stretto_status differs = STRETTO_INCOMPATIBLE, wrong = STRETTO_INVALID_ARGUMENT;
    const int last = ranks_ - 1;
    return {
        {"count",
         few_summed,
         [](const Calls& c) { return c.sum(few + 1); },
         differs,
         {"count differs", "10 on rank", "11 on rank"}},
        {"a long vector",
         few_summed,
         [](const Calls& c) { return c.sum(room); },
         differs,
         {"count differs", "10 on rank", "30000 on rank"}},
        {"two long vectors",
         [](const Calls& c) { return c.sum(room - 1); },
         [](const Calls& c) { return c.sum(room); },
         differs,
         {"count differs", "29999 on rank", "30000 on rank"}},
        {"operation",
         few_summed,
         [](const Calls& c) { return c.sum(few, STRETTO_MAX); },
         differs,
         {"operation differs", "sum on rank", "max on rank"}},
        {"barrier",
         few_summed,
         [](const Calls& c) { return stretto_barrier(c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "barrier on rank"}},
        {"bcast",
         few_summed,
         [](const Calls& c) { return stretto_bcast(c.y, few, STRETTO_F32, 0, c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "bcast on rank"}},
        {"alltoall",
         few_summed,
         [](const Calls& c) { return stretto_alltoall(c.x, c.y, few, STRETTO_F32, c.comm, c.o); },
         differs,
         {"collective differs", "allreduce on rank", "alltoall on rank"}},
        {"root",
         [](const Calls& c) { return c.reduce(few, 0); },
         [last](const Calls& c) { return c.reduce(few, last); },
         differs,
         {"root differs", "0 on rank", std::to_string(last) + " on rank"}},
        {"root of bcast",
         [](const Calls& c) { return stretto_bcast(c.y, few, STRETTO_F32, 0, c.comm, c.o); },
         [last](const Calls& c) { return stretto_bcast(c.y, few, STRETTO_F32, last, c.comm, c.o); },
         differs,
         {"root differs"}},
        {"bound", bounded_sum(1e-3), bounded_sum(1e-4), differs, {"bound differs", "0.001 on rank", "0.0001 on rank"}},
        {"bound or none",
         few_summed,
         bounded_sum(1e-4),
         differs,
         {"bound_kind differs", "none on rank", "relative on rank"}},
        {"no buffer",
         few_summed,
         [](const Calls& c) { return stretto_allreduce(c.x, nullptr, few, STRETTO_F32, STRETTO_SUM, c.comm, c.o); },
         wrong,
         {"recvbuf is NULL with 10 elements"}},
        {"no values",
         bounded_sum(1e-3),
         [](const Calls& c) { return stretto_allreduce(nullptr, c.y, room, STRETTO_F32, STRETTO_SUM, c.comm, c.o); },
         wrong,
         {"sendbuf is NULL"}},
        {"form", few_summed, started, differs, {"collective differs", "iallreduce on rank", "allreduce on rank"}, true},
        {"form of most",
         tested,
         few_summed,
         differs,
         {"collective differs", "iallreduce on rank", "allreduce on rank"},
         true},
    };
  }

  void run(const Case& c, int odd, stretto_comm comm) const {
    stretto_options o = defaults();
    o.timeout = 60;  // reached only where a rank was told nothing
    std::vector<float> x(room, 1), y(room, unused);
    const Calls calls{x.data(), y.data(), comm, &o};
    EXPECT_EQ((rank_ == odd ? c.odd : c.usual)(calls), c.status) << stretto_message();
    for (const std::string& text : c.said)
      EXPECT_NE(std::string(stretto_message()).find(text), std::string::npos)
          << "message: " << stretto_message() << "\nwants: " << text;
    EXPECT_EQ(y, std::vector<float>(room, unused));
    EXPECT_EQ(calls.sum(few), STRETTO_OK) << stretto_message();
    EXPECT_EQ(y[few - 1], static_cast<float>(ranks_));
    EXPECT_EQ(calls.sum(room), STRETTO_OK) << stretto_message();
    EXPECT_EQ(y[room - 1], static_cast<float>(ranks_));
  }

  const int rank_, ranks_;
  const Make make_;
};

}  // namespace api_test
