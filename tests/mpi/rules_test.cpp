#include "mpi/settings/rules.hpp"

#include <gtest/gtest.h>

using namespace stretto;
using namespace stretto::mpi;

namespace {

const Action* find(const Rules& rules, Function operation, std::int64_t bytes, const std::string& site = "app:main",
                   const std::string& comm = "MPI_COMM_WORLD") {
  return rules.find(
      operation, bytes, [&] { return site; }, [&] { return comm; });
}

Rules parsed(std::string_view text) {
  Rules rules;
  EXPECT_EQ(rules.parse(text), Status::ok) << message();
  return rules;
}

}  // namespace

TEST(Bounds, AreReadWithTheirScope) {
  Bound b;
  ASSERT_EQ(parse_bound("rel:1e-4", &b), Status::ok);
  EXPECT_EQ(b, (Bound{STRETTO_BOUND_RELATIVE, 1e-4, STRETTO_SCOPE_RESULT}));
  ASSERT_EQ(parse_bound("abs:0.5:contribution", &b), Status::ok);
  EXPECT_EQ(b, (Bound{STRETTO_BOUND_ABSOLUTE, 0.5, STRETTO_SCOPE_CONTRIBUTION}));
  ASSERT_EQ(parse_bound("abs:2:result", &b), Status::ok);
  EXPECT_EQ(b, (Bound{STRETTO_BOUND_ABSOLUTE, 2, STRETTO_SCOPE_RESULT}));
}

TEST(Bounds, ThatAreNoneAreNamed) {
  Bound b;
  for (const char* text :
       {"", "1e-4", "rel", "rel:", "rel:x", "rel:0", "abs:-1", "abs:inf", "abs:nan", "abs:1x", "abs:1:all"}) {
    EXPECT_EQ(parse_bound(text, &b), Status::invalid_bound) << text;
    EXPECT_NE(std::string_view(message()).find(std::string("'") + text + "'"), std::string_view::npos) << message();
  }
  EXPECT_EQ(b, Bound());
  ASSERT_EQ(parse_bound("1e-4", &b), Status::invalid_bound);
  EXPECT_NE(std::string_view(message()).find("with :contribution after it"), std::string_view::npos) << message();
}

TEST(Bytes, TakeUnits) {
  std::int64_t n = 0;
  EXPECT_EQ(parse_bytes("4096", &n), Status::ok);
  EXPECT_EQ(n, 4096);
  EXPECT_EQ(parse_bytes("3M", &n), Status::ok);
  EXPECT_EQ(n, 3 << 20);
  for (const char* text : {"", "K", "-1", "1T", "99999999999G", "1.5M"})
    EXPECT_EQ(parse_bytes(text, &n), Status::invalid_argument) << text;
}

TEST(Rules, TheFirstThatFitsDecides) {
  const Rules rules = parsed(
      "# small ones stay\n"
      "*          ..4095            off\n"
      "allreduce  1M.. comm=ocean*  rel:1e-5   # large ones of the ocean\n"
      "\n"
      "allreduce  site=*:solve      schedule:ring payload:fused abs:1 raw_below:64K\n"
      "*                            native\n");
  EXPECT_EQ(find(rules, Function::bcast, 4095)->kind, Action::Kind::off);
  EXPECT_EQ(find(rules, Function::bcast, 4096)->kind, Action::Kind::native);
  const Action* ocean = find(rules, Function::allreduce, 1 << 20, "app:solve", "ocean2");
  EXPECT_EQ(ocean->kind, Action::Kind::bounded);
  EXPECT_EQ(ocean->bound.value, 1e-5);
  const Action* solve = find(rules, Function::allreduce, (1 << 20) - 1, "libsolver.so:solve", "ocean2");
  EXPECT_EQ(solve->schedule, "ring");
  EXPECT_EQ(solve->payload, STRETTO_PAYLOAD_FUSED);
  EXPECT_EQ(solve->raw_below, 65536u);
  EXPECT_EQ(ocean->raw_below, 0u);
  EXPECT_EQ(find(rules, Function::allreduce, 1 << 20)->kind, Action::Kind::native);
  EXPECT_TRUE(rules.looks_at_names());
}

TEST(Rules, WithoutNamesAskForNone) {
  const Rules rules = parsed("allreduce 0..8 exact\n");
  EXPECT_FALSE(rules.looks_at_names());
  const auto no_name = []() -> std::string {
    ADD_FAILURE() << "a name was asked for";
    return {};
  };
  EXPECT_NE(rules.find(Function::allreduce, 8, no_name, no_name), nullptr);
  EXPECT_EQ(rules.find(Function::allreduce, 9, no_name, no_name), nullptr);
}

TEST(Rules, ThatCannotBeReadAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nallreduc off", "line 2: 'allreduc'"},
      {"allreduce", "nothing to do"},
      {"allreduce 1M..", "nothing to do"},
      {"allreduce 1Q.. off", "'1Q'"},
      {"allreduce of", "'of' is none of"},
      {"allreduce rel:0", "'rel:0' is no bound"},
      {"allreduce payload:zip off",
       "'zip' is no payload: raw, recompress, homomorphic, fused, cprp2p, mixed or bfloat16"},
      {"allreduce payload:", "'' is no payload"},
      {"allreduce schedule: off", "'schedule:'"},
      {"allreduce 64K..1K off", "'64K..1K' holds no size"},
      {"allreduce rel:1e-4 exact", "'rel:1e-4' and 'exact' contradict"},
      {"allreduce rel:1e-4 native", "'rel:1e-4' and 'native' contradict"},
      {"* off schedule:ring", "'off' leaves the call to the MPI"},
      {"allreduce exact payload:fused", "'exact' and a payload"},
      {"barrier rel:1e-4", "do not act on 'barrier'"},
      {"gatherv payload:fused", "do not act on 'gatherv'"},
      {"allreduce coding:thick", "'thick' is no coding: auto, fixed or dense"},
      {"gatherv coding:dense", "do not act on 'gatherv'"},
      {"allreduce exact coding:dense", "'coding:' is of streams, and 'exact' has none"},
      {"allreduce native coding:fixed", "'coding:' is of streams, and 'native' has none"},
      {"allreduce payload:raw coding:dense", "'coding:' is of streams, and 'payload:raw' has none"},
      {"allreduce rel:1e-4 payload:bfloat16", "'payload:bfloat16' keeps no bound, and the line has 'rel:1e-4'"},
      {"allreduce exact payload:bfloat16", "'exact' and a payload"},
      {"allreduce payload:bfloat16 coding:dense", "'coding:' is of streams, and 'payload:bfloat16' has none"},
      {"allreduce payload:bfloat16 raw_below:64K", "fused and homomorphic alone"},
      {"gatherv payload:bfloat16", "do not act on 'gatherv'"},
      {"allreduce rel:1e-4 raw_below:64Q", "'64Q' is no number of bytes"},
      {"allreduce exact raw_below:64K", "'raw_below:' is beside streams, and 'exact' has none"},
      {"allreduce rel:1e-4 payload:cprp2p raw_below:64K", "fused and homomorphic alone"},
      {"bcast raw_below:64K", "'raw_below:' is of sums, and 'bcast' is none"},
      {"allreduce comm= exact", "'comm=' names nothing"},
      {"\nallreduce site= exact", "line 2: 'site=' names nothing"}};
  for (const auto& [text, told] : cases) {
    Rules rules = parsed("* off");
    EXPECT_EQ(rules.parse(text) == Status::ok, false) << text;
    EXPECT_NE(std::string_view(message()).find(told), std::string_view::npos) << message();
    EXPECT_TRUE(rules.empty()) << text;
  }
}

TEST(Rules, Bfloat16NeedsNoBound) {
  const Rules rules = parsed("allreduce 1K.. payload:bfloat16\nbcast payload:bfloat16\n* payload:fused");
  const Action* sum = find(rules, Function::allreduce, 1024);
  EXPECT_EQ(sum->kind, Action::Kind::bounded);
  EXPECT_EQ(sum->bound.kind, STRETTO_BOUND_NONE);
  EXPECT_EQ(sum->payload, STRETTO_PAYLOAD_BFLOAT16);
  EXPECT_TRUE(find(rules, Function::bcast, 8)->moves);
  EXPECT_EQ(rules.line_without_bound(), 3);
}

// A schedule alone does not let the bound for all act on moved data.
TEST(Rules, BoundMovedDataWhereTheyNameItsCollective) {
  for (const char* text : {"bcast rel:1e-4", "bcast payload:fused"})
    EXPECT_TRUE(find(parsed(text), Function::bcast, 8)->moves) << text;
  for (const char* text : {"* rel:1e-4", "bcast schedule:binomial", "bcast payload:raw"})
    EXPECT_FALSE(find(parsed(text), Function::bcast, 8)->moves) << text;
  EXPECT_FALSE(find(parsed("allreduce rel:1e-4"), Function::allreduce, 8)->moves);
}

TEST(Rules, WithASchedulesNameThatIsNoneAreToldAll) {
  const ScheduleNames schedules = {"ring", "binomial"};
  Rules rules;
  EXPECT_EQ(rules.parse("* schedule:ring", &schedules), Status::ok) << message();
  EXPECT_EQ(rules.parse("* schedule:rong", &schedules), Status::invalid_argument);
  EXPECT_EQ(std::string_view(message()), "line 1: 'rong' is no schedule; there are ring, binomial");
}

TEST(Rules, NameABroadcastAsMpiAndAsPredictionsDo) {
  for (const char* text : {"bcast off", "broadcast off"}) {
    const Rules rules = parsed(text);
    ASSERT_NE(find(rules, Function::bcast, 8), nullptr) << text;
    EXPECT_EQ(find(rules, Function::allreduce, 8), nullptr) << text;
  }
}

TEST(Rules, NamePayloadsAsTheInterfaceAndAsPredictionsDo) {
  for (const char* text : {"* payload:recompress", "* payload:doc"})
    EXPECT_EQ(find(parsed(text), Function::allreduce, 8)->payload, STRETTO_PAYLOAD_RECOMPRESS) << text;
}

TEST(Rules, NameCodingsBesideABoundOrTheBoundForAll) {
  const Rules rules = parsed("allreduce ..1M rel:1e-4 coding:dense\nallreduce coding:fixed\n* coding:auto\n");
  EXPECT_EQ(find(rules, Function::allreduce, 8)->coding, STRETTO_CODING_DENSE);
  EXPECT_EQ(find(rules, Function::allreduce, 2 << 20)->coding, STRETTO_CODING_FIXED);
  EXPECT_EQ(find(rules, Function::allreduce, 2 << 20)->kind, Action::Kind::usual);
  EXPECT_EQ(find(rules, Function::reduce, 8)->coding, STRETTO_CODING_AUTO);
}
