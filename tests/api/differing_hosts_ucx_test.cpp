// Calls of several hosts that differ, over UCX (differing_hosts.hpp).
//
// usage: differing_hosts_ucx_test LAYOUT [gtest options]     LAYOUT as in placed.hpp: a process has one
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "differing_hosts.hpp"
#include "placed.hpp"
#include "stretto/stretto_store.h"

using namespace api_test;

namespace {

int number_of(const char* variable) { return std::stoi(std::getenv(variable)); }

// In the directory of the store.
std::string told() { return std::string(std::getenv("STRETTO_STORE")).substr(std::string("file://").size()) + "/told"; }

DifferingHosts over_ucx() {
  return {number_of("STRETTO_RANK"), number_of("STRETTO_SIZE"),
          [] {
            stretto_comm comm = nullptr;
            EXPECT_EQ(stretto_comm_create_environment(nullptr, &comm), STRETTO_OK) << stretto_message();
            return comm;
          },
          [] { std::ofstream(told()).flush(); },
          [] {
            while (!std::filesystem::remove(told())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }};
}

}  // namespace

TEST(DifferingHostsOverUcx, AllRanksGetTheMessageOfTheExchange) { over_ucx().run(); }
TEST(DifferingHostsOverUcx, AMissingRankIsATimeout) { over_ucx().run_missing(); }
TEST(DifferingHostsOverUcx, NoCallGetsAnothersValuesIfCheckDiffers) { over_ucx().run_unchecked(true); }
TEST(DifferingHostsOverUcx, TestsReturnWhereARankIsLate) { over_ucx().run_tests_that_return(); }
TEST(DifferingHostsOverUcx, DrawnCallsAgreeInAnyOrderOfWaits) { over_ucx().run_drawn(); }

int main(int argc, char** argv) {
  const std::vector<int> host_of = placed(argc > 1 ? argv[1] : "cyclic:2", number_of("STRETTO_SIZE"));
  const int host = host_of[static_cast<std::size_t>(number_of("STRETTO_RANK"))];
  setenv("STRETTO_HOST", ("host" + std::to_string(host)).c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
