#include "model/profile/profile_text.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace stretto::model {
namespace {

namespace fs = std::filesystem;

// A directory of its own, and variables of the environment as a test wants them; both undone at the end.
class Surroundings {
 public:
  Surroundings() : directory_(fs::temp_directory_path() / ("stretto_profile_test_" + std::to_string(::getpid()))) {
    fs::create_directories(directory_);
  }
  ~Surroundings() {
    for (const auto& [name, value] : saved_)
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(directory_);
  }
  void set(const char* name, const std::string& value) {
    const char* old = std::getenv(name);
    saved_.emplace_back(name, old != nullptr ? old : "");
    value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
  }
  std::string write(const std::string& path, const std::string& text) const {
    const fs::path file = fs::path(path).is_absolute() ? fs::path(path) : directory_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  std::string directory() const { return directory_.string(); }

 private:
  fs::path directory_;
  std::vector<std::pair<std::string, std::string>> saved_;
};

TEST(Profile, WhatIsWrittenIsReadBack) {
  Profile p;
  p.name = "a \"host\"";
  p.source = "measured";
  p.mpi = "Open MPI 5.0.11";
  p.cores = 48;
  p.ranks = 6;
  p.hosts = 3;
  p.links[static_cast<std::size_t>(topology::Distance::socket)] = {{0, 1e-7, 2e-11, 1e-11}, {4096, 1.5e-6, 1e-11, 0}};
  p.links[static_cast<std::size_t>(topology::Distance::network)] = {{0, 1e-6, 8e-11, 3e-10, 6e-6}};
  p.short_calls = {{0, 1e-6, 4e-11}, {512, 2e-6, 3e-11}};
  p.full_duplex = false;
  p.nics = 0;
  p.gamma = 1.0 / 3;
  p.copy = 2e-11;
  p.step = 3e-7;
  p.agreement = 4e-6;
  p.f32 = {{2, 1e-7, 1e-11, 2e-11, 3e-11, 4e-11}, {8, 2e-7, 5e-11, 6e-11, 7e-11, 8e-11}};
  p.f64 = {{4, 1e-7, 1e-11, 2e-11, 3e-11, 4e-11}};
  p.dense_f32 = {{3, 1e-6, 1e-10, 2e-10, 3e-10, 4e-10}, {9, 2e-6, 5e-10, 6e-10, 7e-10, 8e-10}};
  p.dense_f64 = {{5, 1e-6, 1e-10, 2e-10, 3e-10, 5e-10}};
  p.probe = {1e-11, 2e-11, 3e-11, 4e-11};
  p.dense_probe = {1e-10, 2e-10, 3e-10, 4e-10};
  p.natives = {{schedule::Collective::reduce_scatter, 5, 2, {{8, 1e-6}, {1024, 2e-6}}},
               {schedule::Collective::allreduce, 5, 1, {{8, 5e-7}}, Provider::node}};
  p.switches = {{2, 16384, {}, std::size_t{1} << 20}, {3, {}, 0, {}}};
  p.device.name = "NVIDIA H200";
  p.device.source = "a test";
  p.device.launch = 5e-6;
  p.device.staging = 4e-11;
  p.device.look = 1e-5;
  p.device.combine = 7e-13;
  p.device.copy = 5e-13;
  p.device.f32 = {{1, 1.5e-5, 1e-12, 2e-12, 3e-12, 4e-12}, {8, 1e-5, 1e-12, 2e-12, 3e-12, 4e-12}};
  p.device.f64 = {{2, 2e-5, 1e-12, 2e-12, 3e-12, 4e-12}};
  p.device.nccl_inside = {3e-6, 5e-12};
  p.ucx.emplace();
  p.ucx->library = "UCX 1.13.1";
  p.ucx->ranks = 3;
  p.ucx->links[0] = {{0, 1.5e-5, 3e-10, 3e-10}};
  p.ucx->step = 1e-6;
  const std::string text = to_json(p);
  Profile q;
  ASSERT_EQ(parse(text, &q), Status::ok) << message();
  EXPECT_EQ(to_json(q), text);
  EXPECT_EQ(q.gamma, p.gamma);
  ASSERT_EQ(q.dense_f32.size(), 2u);
  EXPECT_EQ(q.dense_f32[1].fused, 8e-10);
  ASSERT_EQ(q.dense_f64.size(), 1u);
  EXPECT_EQ(q.dense_f64[0].fused, 5e-10);
  EXPECT_EQ(q.probe.fused, 4e-11);
  EXPECT_EQ(q.dense_probe.add, 3e-10);
  EXPECT_EQ(q.links[1].size(), 2u);
  EXPECT_EQ(q.links[3][0].cpu_message, 6e-6);
  ASSERT_EQ(q.short_calls.size(), 2u);
  EXPECT_EQ(q.short_calls[1].beta, 3e-11);
  EXPECT_EQ(q.natives[0].points, p.natives[0].points);
  EXPECT_EQ(q.device.nccl_inside.step, 3e-6);
  EXPECT_EQ(q.device.nccl_inside.byte, 5e-12);
  EXPECT_FALSE(q.device.nccl_between.known());
  EXPECT_EQ(q.natives[0].collective, schedule::Collective::reduce_scatter);
  EXPECT_EQ(q.natives[1].provider, Provider::node);
  EXPECT_EQ(q.natives[1].points, p.natives[1].points);
  ASSERT_NE(q.switches_of(2), nullptr);
  EXPECT_EQ(q.switches_of(2)->eager, std::size_t{16384});
  EXPECT_EQ(q.switches_of(2)->kernel, std::size_t{1} << 20);
  EXPECT_FALSE(q.switches_of(2)->eager_reduce);
  EXPECT_EQ(q.switches_of(3)->eager_reduce, std::size_t{0});
  EXPECT_EQ(q.switches_of(4), nullptr);
  ASSERT_TRUE(q.ucx);
  EXPECT_EQ(q.ucx->library, "UCX 1.13.1");
  EXPECT_EQ(q.ucx->ranks, 3);
  EXPECT_EQ(q.ucx->links[0][0].alpha, 1.5e-5);
  EXPECT_EQ(q.ucx->step, 1e-6);
}

// Ranks that held other numbers could choose otherwise.
TEST(Profile, IsReadAlikeHoweverARankRounds) {
  const std::string text = to_json(built_in());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    Profile p;
    std::fesetround(mode);
    const Status s = parse(text, &p);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(s, Status::ok) << message();
    EXPECT_EQ(after, mode);
    EXPECT_EQ(to_json(p), text);
  }
}

TEST(Profile, WhatIsMissingHasADefaultAndUnknownKeysAreNotes) {
  Profile p;
  ASSERT_EQ(parse(R"({"version": 1, "regime": "near", "device": null})", &p), Status::ok) << message();
  EXPECT_EQ(p.cores, 1);
  EXPECT_EQ(p.nics, 1);
  EXPECT_TRUE(p.full_duplex);
  EXPECT_TRUE(p.links[0].empty());
  EXPECT_TRUE(p.short_calls.empty());
}

struct Bad {
  const char* json;
  const char* says;
};

class BadProfile : public testing::TestWithParam<Bad> {};

TEST_P(BadProfile, IsRefusedWithTheWayToWhatIsWrong) {
  Profile p;
  EXPECT_EQ(parse(GetParam().json, &p), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find(GetParam().says), std::string::npos) << message();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProfile,
    testing::Values(
        Bad{R"({"version": 1, "gamma": 1, "gamma": 2})", "gamma stands twice in one object"},
        Bad{R"({"version": 1, "links": {"cache": [{"alpha": 1, "beta": 1, "alpha": 2}]}})",
            "links.cache.alpha stands twice"},
        Bad{"{", "no JSON"}, Bad{"[]", "is no object"}, Bad{"{}", "version is missing"},
        Bad{R"({"version": 7})", "has version 7; this build reads version 1"},
        Bad{R"({"version": 1, "cores": 0})", "cores is 0"},
        Bad{R"({"version": 1, "cores": 1.5})", "cores is no integer"},
        Bad{R"({"version": 1, "gamma": -1})", "gamma is -1"},
        Bad{R"({"version": 1, "links": {"network": [{"alpha": 1}]}})", "links.network[0].beta is missing"},
        Bad{R"({"version": 1, "links": {"cache": [{"from": 4, "alpha": 1, "beta": 1}]}})",
            "links.cache[0].from of the first range is not 0"},
        Bad{R"({"version": 1, "links": {"cache": [{"alpha": 1, "beta": 1}, {"alpha": 1, "beta": 1, "from": 0}]}})",
            "links.cache[1].from does not ascend"},
        Bad{R"({"version": 1, "codec": {"f32": [{"ratio": 0.5, "compress": 1, "decompress": 1, "add": 1, "fused": 1}]}})",
            "codec.f32[0].ratio is 0.5"},
        Bad{R"({"version": 1, "switches": [{"ranks": 2, "eager": -1}]})", "switches[0].eager is -1"},
        Bad{R"({"version": 1, "ucx": {"library": "UCX 1.13.1"}})", "ucx.links is missing"},
        Bad{R"({"version": 1, "ucx": {"links": {"tcp": []}}})",
            "ucx.links has none of cache, socket, node and network"},
        Bad{R"({"version": 1, "ucx": {"links": {"cache": [{"alpha": -1, "beta": 1}]}}})",
            "ucx.links.cache[0].alpha is -1"},
        Bad{R"({"version": 1, "natives": [{"collective": "sum", "ranks": 2, "points": []}]})",
            "natives[0].collective 'sum' is none"},
        Bad{R"({"version": 1, "natives": [{"collective": "reduce", "ranks": 2, "points": [[8]]}]})",
            "natives[0].points[0] is no pair"}));

TEST(Profile, KeysOfDifferentObjectsMayBeAlike) {
  Profile p;
  EXPECT_EQ(
      parse(
          R"({"version": 1, "links": {"version": 2, "node": [{"alpha": 1, "beta": 1}, {"from": 1, "alpha": 1, "beta": 1}]},
                     "device": {"launch": 1}, "note": {"launch": 2}})",
          &p),
      Status::ok)
      << message();
}

TEST(Profile, TextsAreReadSoThatTheyCanBePrinted) {
  Profile p;
  ASSERT_EQ(parse(R"({"version": 1, "name": "a\u001b[2Jb", "source": "\u009b", "mpi": "\n"})", &p), Status::ok)
      << message();
  EXPECT_EQ(p.name, "a\\x1b[2Jb");
  EXPECT_EQ(p.source, "\\xc2\\x9b");
  EXPECT_EQ(p.mpi, "\\x0a");
}

TEST(Profile, AllThatAreShippedAreReadAndCarryTheirNameAndSource) {
  const auto names = shipped();
  EXPECT_NE(std::find(names.begin(), names.end(), "built-in"), names.end());
  for (const std::string& name : names) {
    Profile p;
    ASSERT_EQ(shipped(name, &p), Status::ok) << name << ": " << message();
    EXPECT_EQ(p.name, name);
    EXPECT_FALSE(p.source.empty()) << name;
    EXPECT_FALSE(p.links[static_cast<std::size_t>(topology::Distance::network)].empty()) << name;
    EXPECT_FALSE(p.f32.empty()) << name;
    EXPECT_GT(p.gamma, 0) << name;
  }
  Profile p;
  EXPECT_EQ(shipped("deep-thought", &p), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("built-in"), std::string::npos);
}

TEST(Profile, OfAUserIsFoundByHostAndMpiAndElseTheBuiltIn) {
  Surroundings around;
  around.set("STRETTO_PROFILE", "");
  around.set("XDG_CONFIG_HOME", around.directory());
  const std::string path = user_path("node/17", "Open MPI 5.0.11");
  EXPECT_EQ(path, around.directory() + "/stretto/node_17_Open_MPI_5.0.11.json");
  Profile p;
  ASSERT_EQ(find("node/17", "Open MPI 5.0.11", &p), Status::ok);
  EXPECT_EQ(p.name, "built-in");
  around.write(path, R"({"version": 1, "name": "mine"})");
  ASSERT_EQ(find("node/17", "Open MPI 5.0.11", &p), Status::ok);
  EXPECT_EQ(p.name, "mine");
  around.write(path, "{}");  // nobody named it, so that it cannot be read is no error
  ASSERT_EQ(find("node/17", "Open MPI 5.0.11", &p), Status::ok);
  EXPECT_EQ(p.name, "built-in");
}

TEST(Profile, OfAHostIsTheOneWrittenLastOfThoseThatCanBeRead) {
  Surroundings around;
  around.set("STRETTO_PROFILE", "");
  around.set("XDG_CONFIG_HOME", around.directory());
  Profile p;
  std::string from;
  ASSERT_EQ(find_of_host("node/17", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, "built-in");
  const auto now = fs::file_time_type::clock::now();
  const auto write = [&](const char* host, const char* mpi, const std::string& text, int minutes_ago) {
    const std::string path = around.write(user_path(host, mpi), text);
    fs::last_write_time(path, now - std::chrono::minutes(minutes_ago));
    return path;
  };
  const std::string older = write("node/17", "Open MPI 5", R"({"version": 1, "name": "older"})", 3);
  write("node/170", "MPICH 5", R"({"version": 1, "name": "another host"})", 0);
  ASSERT_EQ(find_of_host("node/17", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, older);
  EXPECT_EQ(p.name, "older");
  const std::string newer = write("node/17", "MPICH 5", R"({"version": 1, "name": "newer"})", 2);
  write("node/17", "MPICH 6", R"({"version": 99})", 1);
  ASSERT_EQ(find_of_host("node/17", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, newer);
  EXPECT_EQ(p.name, "newer");
  around.set("STRETTO_PROFILE", "zen4-2core");
  ASSERT_EQ(find_of_host("node/17", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, "STRETTO_PROFILE=zen4-2core");
  EXPECT_EQ(p.name, "zen4-2core");
}

double latency(const Profile& p) { return p.links[0].empty() ? -1 : p.links[0][0].alpha; }

constexpr const char* kMpiLinks = R"("mpi": "Open MPI 5", "links": {"cache": [{"alpha": 1, "beta": 1}]}, "step": 2,
  "natives": [{"collective": "reduce", "ranks": 2, "points": [[8, 1]]}],
  "node": [{"collective": "reduce", "ranks": 2, "points": [[8, 1]]}])";
constexpr const char* kUcxLinks = R"("ucx": {"links": {"cache": [{"alpha": 3, "beta": 1}]}, "step": 4, "nics": 0})";

Profile parsed(const std::string& fields) {
  Profile p;
  EXPECT_EQ(parse(R"({"version": 1, "name": "mine", "gamma": 7)" + fields + "}", &p), Status::ok) << message();
  return p;
}

TEST(ProfileOver, ACarrierItTakesTheMessagesThatWereMeasuredOverIt) {
  const Profile both = parsed(std::string(", ") + kMpiLinks + ", " + kUcxLinks);
  std::string messages;
  const Profile mpi = over(Carrier::mpi, both, &messages);
  EXPECT_EQ(messages, "mine");
  EXPECT_EQ(latency(mpi), 1);
  EXPECT_EQ(mpi.step, 2);
  EXPECT_EQ(mpi.natives.size(), 2u);
  const Profile ucx = over(Carrier::ucx, both, &messages);
  EXPECT_EQ(messages, "mine");
  EXPECT_EQ(latency(ucx), 3);
  EXPECT_EQ(ucx.step, 4);
  EXPECT_EQ(ucx.nics, 0);
  ASSERT_EQ(ucx.natives.size(), 1u) << "the MPI's own collectives are no candidates there";
  EXPECT_EQ(ucx.natives[0].provider, Provider::node);
}

TEST(ProfileOver, AnUnmeasuredCarrierUsesAndNamesBuiltInMessages) {
  std::string messages;
  const Profile ucx = over(Carrier::ucx, parsed(std::string(", ") + kMpiLinks), &messages);
  EXPECT_EQ(messages, "built-in");
  ASSERT_TRUE(built_in().ucx);
  EXPECT_EQ(latency(ucx), built_in().ucx->links[0][0].alpha);
  EXPECT_EQ(ucx.step, built_in().ucx->step);
  EXPECT_EQ(ucx.gamma, 7) << "what is no message's is the machine's";
  const Profile mpi = over(Carrier::mpi, parsed(std::string(", ") + kUcxLinks), &messages);
  EXPECT_EQ(messages, "built-in");
  EXPECT_EQ(latency(mpi), latency(built_in()));
  EXPECT_EQ(mpi.gamma, 7);
}

TEST(ProfileOver, AProfileWithoutANetworkItTakesTheBuiltInOne) {
  constexpr auto network = static_cast<std::size_t>(topology::Distance::network);
  for (const Carrier carrier : {Carrier::mpi, Carrier::ucx}) {
    const Profile p = over(carrier, parsed(std::string(", ") + kMpiLinks + ", " + kUcxLinks));
    EXPECT_EQ(p.network_of, "built-in");
    const Messages& built = carrier == Carrier::ucx ? *built_in().ucx : static_cast<const Messages&>(built_in());
    ASSERT_FALSE(p.links[network].empty());
    EXPECT_EQ(p.links[network][0].beta, built.links[network][0].beta);
    EXPECT_EQ(p.links[network - 1][0].alpha, latency(p)) << "links of a host stay links of a host";
  }
  EXPECT_EQ(over(Carrier::mpi, built_in()).network_of, "");
}

// Those of a data sheet, as of a100-hdr.
TEST(ProfileOver, FiguresOfNoMpiAreThoseOfAnyCarrier) {
  std::string messages;
  const Profile p = over(Carrier::ucx, parsed(R"(, "links": {"cache": [{"alpha": 5, "beta": 1}]})"), &messages);
  EXPECT_EQ(messages, "mine");
  EXPECT_EQ(latency(p), 5);
}

TEST(Profile, OfAHostAndACarrierIsOneThatWasMeasuredOverIt) {
  Surroundings around;
  around.set("STRETTO_PROFILE", "");
  around.set("XDG_CONFIG_HOME", around.directory());
  const auto text = [](const char* fields) { return std::string(R"({"version": 1, "name": "n", )") + fields + "}"; };
  const std::string mpi = around.write(user_path("h", "Open MPI 5"), text(kMpiLinks));
  Profile p;
  std::string from;
  ASSERT_EQ(find_of_host("h", Carrier::ucx, &p, &from), Status::ok);
  EXPECT_EQ(from, "built-in");
  const std::string ucx = around.write(user_path("h", "UCX 1.13.1"), text(kUcxLinks));
  ASSERT_EQ(find_of_host("h", Carrier::ucx, &p, &from), Status::ok);
  EXPECT_EQ(from, ucx);
  ASSERT_EQ(find_of_host("h", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, mpi);
}

TEST(Profile, ThatIsDoubtedIsTakenOnlyWhereItIsNamed) {
  Surroundings around;
  around.set("STRETTO_PROFILE", "");
  around.set("XDG_CONFIG_HOME", around.directory());
  const std::string path = around.write(
      user_path("h", "m"), R"({"version": 1, "name": "n", "quality": {"share": 0.4, "doubts": ["step of 5 ms"]}})");
  Profile p;
  std::string from;
  ASSERT_EQ(find("h", "m", &p), Status::ok);
  EXPECT_EQ(p.name, "built-in");
  ASSERT_EQ(find_of_host("h", Carrier::mpi, &p, &from), Status::ok);
  EXPECT_EQ(from, "built-in");
  around.set("STRETTO_PROFILE", path);
  ASSERT_EQ(find("h", "m", &p), Status::ok);
  EXPECT_EQ(p.doubts, std::vector<std::string>{"step of 5 ms"});
  Profile again;
  ASSERT_EQ(parse(to_json(p), &again), Status::ok);
  EXPECT_EQ(again.doubts, p.doubts);
}

TEST(Profile, ThatIsNamedIsTakenOrAnError) {
  Surroundings around;
  Profile p;
  around.set("STRETTO_PROFILE", "built-in");
  EXPECT_EQ(find("h", "m", &p), Status::ok);
  EXPECT_EQ(p.name, "built-in");
  around.set("STRETTO_PROFILE", around.write("a.json", R"({"version": 1, "name": "a"})"));
  EXPECT_EQ(find("h", "m", &p), Status::ok);
  EXPECT_EQ(p.name, "a");
  const std::string old = around.write("old.json", R"({"version": 0})");
  around.set("STRETTO_PROFILE", old);
  EXPECT_EQ(find("h", "m", &p), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find(old), std::string::npos);
  const std::string none = around.directory() + "/none.json";
  around.set("STRETTO_PROFILE", none);
  EXPECT_EQ(find("h", "m", &p), Status::invalid_argument);
  const std::string refused = message();
  EXPECT_TRUE(refused.starts_with("profile '" + none + "' is neither a file nor one of ")) << refused;
  for (const std::string& name : shipped()) EXPECT_NE(refused.find(name), std::string::npos) << refused;
  EXPECT_NE(std::string(message()).find("none.json"), std::string::npos);
}

// Rank 0 sends the text, and the other ranks must get the profile that rank 0 found.
TEST(ProfileText, HasTheProfileThatIsFound) {
  Surroundings around;
  around.set("STRETTO_PROFILE", "");
  around.set("XDG_CONFIG_HOME", around.directory());
  const auto same = [] {
    std::string json;
    Profile found, read;
    ASSERT_EQ(find("h", "m", &found), Status::ok) << message();
    ASSERT_EQ(find_text("h", "m", &json), Status::ok) << message();
    ASSERT_EQ(parse(json, &read), Status::ok) << message();
    EXPECT_EQ(to_json(read), to_json(found));
  };
  same();
  around.write(user_path("h", "m"), R"({"version": 1, "name": "tuned", "gamma": 3e-11})");
  same();
  around.set("STRETTO_PROFILE", "zen4-2core");
  same();
  around.set("STRETTO_PROFILE", around.directory() + "/none.json");
  std::string json;
  EXPECT_EQ(find_text("h", "m", &json), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("none.json"), std::string::npos);
}

TEST(ProfileText, IsReadAnewWhereTheFileHasChanged) {
  Surroundings around;
  for (const char* name : {"one", "two", "one"}) {
    const std::string text = R"({"version": 1, "name": ")" + std::string(name) + R"("})";
    around.set("STRETTO_PROFILE", around.write("a.json", text));
    Profile p;
    ASSERT_EQ(find("h", "m", &p), Status::ok) << message();
    EXPECT_EQ(p.name, name);
  }
}

TEST(ProfileText, ThatCannotBeReadIsRefusedEachTime) {
  Profile p;
  ASSERT_EQ(parse_cached(R"({"version": 1, "name": "good"})", &p), Status::ok) << message();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(parse_cached(R"({"version": 0})", &p), Status::invalid_argument);
  ASSERT_EQ(parse_cached(R"({"version": 1, "name": "good"})", &p), Status::ok) << message();
  EXPECT_EQ(p.name, "good");
}

TEST(ProfileText, IsReadByThreadsConcurrently) {
  const auto text_of = [](int i) { return R"({"version": 1, "name": "n)" + std::to_string(i) + R"("})"; };
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&wrong, &text_of, t] {
      for (int i = 0; i < 50; ++i) {
        const int which = (t + i / 5) % 3;
        Profile p;
        const Status s = parse_cached(text_of(which), &p);
        wrong[static_cast<std::size_t>(t)] += s != Status::ok || p.name != "n" + std::to_string(which);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3));
}

TEST(Profile, ThatIsNoRegularFileIsRefusedWithoutWaiting) {
  Surroundings around;
  Profile p;
  const std::string fifo = around.directory() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [file, what] :
       {std::pair<std::string, std::string>{fifo, "a FIFO"}, {"/dev/zero", "a device"}, {"/", "a directory"}}) {
    around.set("STRETTO_PROFILE", file);
    EXPECT_EQ(find("h", "m", &p), Status::invalid_argument);
    EXPECT_EQ(message(), "profile '" + file + "' is " + what + ", no regular file");
  }
}

TEST(Profile, WhereItCameFromCanBePrinted) {
  Surroundings around;
  Profile p;
  std::string from;
  around.set("STRETTO_PROFILE", around.write("a\x1b[2J.json", R"({"version": 1})"));
  ASSERT_EQ(find_of_host("h", Carrier::mpi, &p, &from), Status::ok) << message();
  EXPECT_EQ(from, "STRETTO_PROFILE=" + around.directory() + "/a\\x1b[2J.json");
}

}  // namespace
}  // namespace stretto::model
