// All ranks with different calls get an error that names the difference, both values and a rank for each. All learn of
// a failure on one rank, and the communicator remains usable.
#include <functional>
#include <string>

#include "ranks.hpp"
#include "stretto/stretto_call.h"

using namespace api_test;

namespace {

// The arguments of an allreduce, or another collective, that a test lets rank 1 of 3 change.
struct Arguments {
  std::size_t count = 64;
  stretto_type type = STRETTO_F32;
  stretto_op op = STRETTO_SUM;
  stretto_options options = STRETTO_OPTIONS_INIT;
  bool null_send = false, null_recv = false, reduce = false;
  int root = 0;
};

stretto_status call(stretto_comm comm, const Arguments& g) {
  std::vector<double> x(128, 1.0), y(128);
  const void* send = g.null_send ? nullptr : x.data();
  void* recv = g.null_recv ? nullptr : y.data();
  return g.reduce ? stretto_reduce(send, recv, g.count, g.type, g.op, g.root, comm, &g.options)
                  : stretto_allreduce(send, recv, g.count, g.type, g.op, comm, &g.options);
}

void expect_contains(const char* message, const std::string& text) {
  EXPECT_EQ(std::string(message).find("nan"), std::string::npos) << "a value that nobody gave: " << message;
  EXPECT_NE(std::string(message).find(text), std::string::npos) << "message: " << message << "\nwants: " << text;
}

// Rank 1 of 3 calls with `change`; every rank must get `status` and a message with each of `texts`.
void expect_told(const std::function<void(Arguments&)>& common, const std::function<void(Arguments&)>& change,
                 stretto_status status, const std::vector<std::string>& texts) {
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    Arguments g;
    common(g);
    if (rank == 1) change(g);
    EXPECT_EQ(call(comm, g), status) << stretto_message();
    for (const auto& t : texts) expect_contains(stretto_message(), t);
    Arguments fine;
    EXPECT_EQ(call(comm, fine), STRETTO_OK) << stretto_message();
  });
}

void nothing(Arguments&) {}
void bound(Arguments& g) { g.options = bounded(1e-3); }

}  // namespace

TEST(Disagreement, Count) {
  expect_told(nothing, [](Arguments& g) { g.count = 65; }, STRETTO_INCOMPATIBLE,
              {"count differs", "64 on rank 0", "65 on rank 1"});
}

TEST(Disagreement, Type) {
  expect_told(nothing, [](Arguments& g) { g.type = STRETTO_F64; }, STRETTO_INCOMPATIBLE,
              {"type differs", "f32 on rank 0", "f64 on rank 1"});
}

TEST(Disagreement, Operation) {
  expect_told(nothing, [](Arguments& g) { g.op = STRETTO_MAX; }, STRETTO_INCOMPATIBLE,
              {"operation differs", "sum on rank 0", "max on rank 1"});
}

TEST(Disagreement, Collective) {
  expect_told(nothing, [](Arguments& g) { g.reduce = true; }, STRETTO_INCOMPATIBLE,
              {"collective differs", "allreduce on rank 0", "reduce on rank 1"});
}

TEST(Disagreement, RecordOfNoCollectiveIsToldToAllRanks) {
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    std::vector<float> x(64, 1), y(64);
    stretto_call c = STRETTO_CALL_INIT;
    c.collective = rank == 1 ? static_cast<stretto_collective>(99) : STRETTO_ALLREDUCE;
    c.sendbuf = x.data();
    c.recvbuf = y.data();
    c.count = x.size();
    c.type = STRETTO_F32;
    EXPECT_EQ(stretto_run(&c, comm, nullptr), STRETTO_INVALID_ARGUMENT);
    expect_contains(stretto_message(), "collective 99 is no stretto_collective");
    c.collective = STRETTO_ALLREDUCE;
    EXPECT_EQ(stretto_run(&c, comm, nullptr), STRETTO_OK) << stretto_message();
    EXPECT_EQ(y, std::vector<float>(64, 3));
  });
}

TEST(Disagreement, Root) {
  expect_told([](Arguments& g) { g.reduce = true; }, [](Arguments& g) { g.root = 2; }, STRETTO_INCOMPATIBLE,
              {"root differs", "0 on rank 0", "2 on rank 1"});
}

TEST(Disagreement, Bound) {
  expect_told(bound, [](Arguments& g) { g.options.bound = 2e-3; }, STRETTO_INCOMPATIBLE,
              {"bound differs", "0.001 on rank 0", "0.002 on rank 1"});
}

TEST(Disagreement, BoundKind) {
  expect_told(bound, [](Arguments& g) { g.options.bound_kind = STRETTO_BOUND_RELATIVE; }, STRETTO_INCOMPATIBLE,
              {"bound_kind differs", "absolute on rank 0", "relative on rank 1"});
  expect_told(bound, [](Arguments& g) { g.options = defaults(); }, STRETTO_INCOMPATIBLE,
              {"bound_kind differs", "none on rank 1", "absolute on rank 0"});
  expect_told(nothing, [](Arguments& g) { g.options = bounded(1e-3, STRETTO_BOUND_RELATIVE, STRETTO_SCOPE_RESULT); },
              STRETTO_INCOMPATIBLE, {"bound_kind differs: none on rank 0, relative on rank 1"});
  // A threshold that only some ranks have follows from it.
  on_ranks(2, [](stretto_comm comm, int rank, int) {
    Arguments g;
    g.options = bounded(1e-3, rank == 0 ? STRETTO_BOUND_ABSOLUTE : STRETTO_BOUND_RELATIVE);
    EXPECT_EQ(call(comm, g), STRETTO_INCOMPATIBLE);
    EXPECT_STREQ(stretto_message(), "bound_kind differs: absolute on rank 0, relative on rank 1");
  });
}

TEST(Disagreement, Scope) {
  expect_told(bound, [](Arguments& g) { g.options.scope = STRETTO_SCOPE_RESULT; }, STRETTO_INCOMPATIBLE,
              {"scope differs", "contribution on rank 0", "result on rank 1"});
}

TEST(Disagreement, IgnoreAbove) {
  const auto relative = [](Arguments& g) { g.options = bounded(1e-3, STRETTO_BOUND_RELATIVE); };
  expect_told(relative, [](Arguments& g) { g.options.ignore_above = 1e10; }, STRETTO_INCOMPATIBLE,
              {"ignore_above differs: 10000000000 on rank 1, 1000000000000000 on rank 0"});
  expect_told(relative, [](Arguments& g) { g.options.ignore_above = INFINITY; }, STRETTO_INCOMPATIBLE,
              {"ignore_above differs: 1000000000000000 on rank 0, inf on rank 1"});
  expect_told(relative, [](Arguments& g) { g.options.ignore_above = 1e15; }, STRETTO_OK, {});  // as 0
}

TEST(Disagreement, Schedule) {
  expect_told(nothing, [](Arguments& g) { g.options.schedule = "ring"; }, STRETTO_INCOMPATIBLE,
              {"schedule differs", "chosen on rank 0", "ring on rank 1"});
}

TEST(Disagreement, Payload) {
  expect_told(bound, [](Arguments& g) { g.options.payload = STRETTO_PAYLOAD_FUSED; }, STRETTO_INCOMPATIBLE,
              {"payload differs", "auto on rank 0", "fused on rank 1"});
}

TEST(Disagreement, Segment) {
  expect_told(nothing, [](Arguments& g) { g.options.segment = 4096; }, STRETTO_INCOMPATIBLE,
              {"segment differs", "0 on rank 0", "4096 on rank 1"});
}

TEST(Disagreement, Coding) {
  expect_told(nothing, [](Arguments& g) { g.options.coding = STRETTO_CODING_DENSE; }, STRETTO_INCOMPATIBLE,
              {"coding differs", "auto on rank 0", "dense on rank 1"});
}

TEST(Disagreement, SeveralFieldsAreAllNamed) {
  expect_told(nothing, [](Arguments& g) { g.count = 3, g.op = STRETTO_MIN; }, STRETTO_INCOMPATIBLE,
              {"count differs", "operation differs"});
}

TEST(Disagreement, CommutationOfAUserOperation) {
  const auto user = [](Arguments& g) {
    g.op = STRETTO_USER;
    g.options.user_function = [](const void*, void*, std::size_t, stretto_type, void*) {};
  };
  expect_told(user, [](Arguments& g) { g.options.user_commutes = 1; }, STRETTO_INCOMPATIBLE, {"user_commutes differs"});
}

TEST(Disagreement, CountsOfReduceScatter) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    const std::size_t counts[] = {2, 3, rank == 2 ? std::size_t{5} : std::size_t{4}};
    std::vector<float> x(16, 1.0f), y(16);
    EXPECT_EQ(stretto_reduce_scatter(x.data(), y.data(), counts, STRETTO_F32, STRETTO_SUM, comm, nullptr),
              STRETTO_INCOMPATIBLE);
    expect_contains(stretto_message(), "counts");
    expect_contains(stretto_message(), "on rank 2");
  });
}

TEST(Disagreement, CountsAtTheRootOfGathervAndScatterv) {
  for (int check : {0, 1})
    on_ranks(3, [check](stretto_comm comm, int rank, int) {
      stretto_options o = defaults();
      o.check = check;
      const std::size_t counts[] = {2, 3, 4};
      const std::size_t own = rank == 2 ? 5 : counts[rank];
      std::vector<float> x(16, 1.0f), y(16);
      EXPECT_EQ(stretto_gatherv(x.data(), own, y.data(), counts, nullptr, STRETTO_F32, 0, comm, &o),
                STRETTO_INCOMPATIBLE);
      expect_contains(stretto_message(), "5 on rank 2, 4 for it in counts of root 0");
      EXPECT_EQ(stretto_scatterv(x.data(), counts, nullptr, y.data(), own, STRETTO_F32, 1, comm, &o),
                STRETTO_INCOMPATIBLE);
      expect_contains(stretto_message(), "5 on rank 2, 4 for it in counts of root 1");
    });
}

TEST(Disagreement, ABufferThatIsNullOnOneRankIsToldToAll) {
  expect_told(nothing, [](Arguments& g) { g.null_send = true; }, STRETTO_INVALID_ARGUMENT, {"sendbuf is NULL with 64"});
  expect_told(nothing, [](Arguments& g) { g.null_recv = true; }, STRETTO_INVALID_ARGUMENT, {"recvbuf is NULL with 64"});
}

TEST(Disagreement, AValueOutOfItsEnumOnOneRankIsToldToAll) {
  expect_told(nothing, [](Arguments& g) { g.type = static_cast<stretto_type>(99); }, STRETTO_INVALID_ARGUMENT,
              {"type 99"});
  expect_told(nothing, [](Arguments& g) { g.op = static_cast<stretto_op>(0); }, STRETTO_INVALID_ARGUMENT,
              {"operation 0"});
  expect_told([](Arguments& g) { g.reduce = true; }, [](Arguments& g) { g.root = 3; }, STRETTO_INVALID_ARGUMENT,
              {"root 3"});
  expect_told(nothing, [](Arguments& g) { g.options.size = 3; }, STRETTO_INVALID_ARGUMENT, {"options.size is 3"});
  expect_told(nothing, [](Arguments& g) { g.options.bound_kind = static_cast<stretto_bound>(7); },
              STRETTO_INVALID_ARGUMENT, {"bound_kind 7"});
  expect_told(bound, [](Arguments& g) { g.options.scope = static_cast<stretto_scope>(9); }, STRETTO_INVALID_ARGUMENT,
              {"scope 9"});
  expect_told(nothing, [](Arguments& g) { g.options.payload = static_cast<stretto_payload>(-1); },
              STRETTO_INVALID_ARGUMENT, {"payload -1"});
}

TEST(Disagreement, ArgumentsThatDoNotGoTogetherAreNamed) {
  const auto all = [](const std::function<void(Arguments&)>& f, stretto_status s, const char* text) {
    expect_told(f, [](Arguments&) {}, s, {text});
  };
  all([](Arguments& g) { g.options.schedule = "nonsense"; }, STRETTO_UNSUPPORTED, "no schedule 'nonsense'");
  all([](Arguments& g) { g.options.payload = STRETTO_PAYLOAD_FUSED; }, STRETTO_INVALID_ARGUMENT, "fused needs a bound");
  all([](Arguments& g) { g.op = STRETTO_USER; }, STRETTO_INVALID_ARGUMENT, "user_function");
  all([](Arguments& g) { g.op = STRETTO_BAND; }, STRETTO_UNSUPPORTED, "band is not defined on type f32");
  all([](Arguments& g) { g.type = STRETTO_I32, g.op = STRETTO_MEAN; }, STRETTO_UNSUPPORTED, "mean");
  all([](Arguments& g) { g.count = SIZE_MAX / 2; }, STRETTO_INVALID_ARGUMENT, "address space");
  all([](Arguments& g) { g.options.timeout = NAN; }, STRETTO_INVALID_ARGUMENT, "timeout");
}

TEST(Disagreement, ARankKeepsTheWholeMessageOfItsOwnError) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    Arguments g;
    if (rank == 1) g.options.schedule = "rings";
    EXPECT_EQ(call(comm, g), STRETTO_UNSUPPORTED);
    if (rank == 1) {
      expect_contains(stretto_message(), "allreduce has no schedule 'rings'; it has ring, ");
      EXPECT_GT(std::string(stretto_message()).size(), 120u) << stretto_message();
    } else {
      expect_contains(stretto_message(), "rank 1: allreduce has no schedule 'rings'");
      EXPECT_EQ(std::string(stretto_message()).substr(std::string(stretto_message()).size() - 3), "...");
    }
  });
}

TEST(Disagreement, InPlaceWhereThereIsNoneIsRefused) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    std::vector<float> x(12, 1.0f), y(12);
    EXPECT_EQ(stretto_allreduce(x.data(), STRETTO_IN_PLACE, 4, STRETTO_F32, STRETTO_SUM, comm, nullptr),
              STRETTO_INVALID_ARGUMENT);
    EXPECT_EQ(stretto_reduce(rank == 1 ? STRETTO_IN_PLACE : x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, 0, comm,
                             nullptr),
              STRETTO_INVALID_ARGUMENT);
    expect_contains(stretto_message(), "sendbuf is STRETTO_IN_PLACE");
    EXPECT_EQ(stretto_allreduce(x.data(), x.data(), 4, STRETTO_F32, STRETTO_SUM, comm, nullptr),
              STRETTO_INVALID_ARGUMENT);
    expect_contains(stretto_message(), "same address");
    const std::size_t counts[] = {2, 2, 2}, displs[] = {0, 1, 4};
    EXPECT_EQ(stretto_allgatherv(x.data(), y.data(), counts, displs, STRETTO_F32, comm, nullptr),
              STRETTO_INVALID_ARGUMENT);
    expect_contains(stretto_message(), "ranks 0 and 1 overlap");
    EXPECT_EQ(stretto_allgatherv(x.data(), y.data(), nullptr, displs, STRETTO_F32, comm, nullptr),
              STRETTO_INVALID_ARGUMENT);
    expect_contains(stretto_message(), "counts is NULL");
  });
}

TEST(Disagreement, AnAbsentRankEndsInADiagnosisAndNotInAHang) {
  on_ranks(3, [](stretto_comm comm, int rank, int) {
    if (rank == 2) return;
    stretto_options o = defaults();
    o.timeout = 0.2;
    std::vector<float> x(4, 1.0f), y(4);
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_TIMEOUT);
    EXPECT_NE(std::string(stretto_message()), "");
    EXPECT_EQ(stretto_allreduce(x.data(), y.data(), 4, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_TIMEOUT);
    expect_contains(stretto_message(), "unusable");
  });
}
