// `stretto doctor` on devices, with stand-ins for the driver's libraries. DRIVER selects the libraries that the loader
// finds: both, the driver's alone, or none.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "devices.hpp"
#include "stretto/stretto_cuda.h"

namespace stretto::doctor {
namespace {

std::string driver() {
  const char* given = std::getenv("DRIVER");
  return given ? given : "none";
}

TEST(DoctorDevices, DevicesAndTheirLinksAreTold) {
  if (driver() != "both") GTEST_SKIP() << "of the run with DRIVER=both";
  const Json found = facts_of_devices();
  EXPECT_TRUE(found["reason"].is_null()) << found["reason"];
  EXPECT_TRUE(found["links_reason"].is_null()) << found["links_reason"];
  EXPECT_EQ(found["driver"], "13.1");
  ASSERT_EQ(found["list"].size(), 2u);
  const Json &a = found["list"][0], &b = found["list"][1];
  EXPECT_EQ(a["name"], "Stand-in 10");
  EXPECT_EQ(a["memory"], std::size_t{141} << 30U);
  EXPECT_EQ(a["capability"], "9.0");
  EXPECT_EQ(a["bus"], "0000:0a:00.0");
  EXPECT_EQ(a["peers"], Json::array({1}));
  EXPECT_EQ(a["pcie"], Json({{"generation", 5}, {"width", 16}, {"most_generation", 5}, {"most_width", 16}}));
  EXPECT_EQ(a["nvlink"], Json({{"links", 18}, {"active", 17}, {"version", 4}}));
  EXPECT_EQ(a["gpudirect"]["rdma"], true);
  EXPECT_EQ(a["gpudirect"]["dma_buf"], true);
  EXPECT_EQ(b["capability"], "7.5");
  EXPECT_EQ(b["peers"], Json::array());
  EXPECT_EQ(b["pcie"], Json({{"generation", 1}, {"width", 8}, {"most_generation", 3}, {"most_width", 16}}));
  EXPECT_TRUE(b["nvlink"].is_null());
  EXPECT_EQ(b["gpudirect"]["rdma"], false);
  EXPECT_TRUE(b["gpudirect"]["dma_buf"].is_null());
}

TEST(DoctorDevices, WithoutNvmlLinksAreUnknownAndThatIsSaid) {
  if (driver() != "alone") GTEST_SKIP() << "of the run with DRIVER=alone";
  if (dlopen("libnvidia-ml.so.1", RTLD_LAZY)) GTEST_SKIP() << "this machine has NVML";
  const Json found = facts_of_devices();
  ASSERT_EQ(found["list"].size(), 2u);
  EXPECT_EQ(found["list"][0]["name"], "Stand-in 10");
  EXPECT_TRUE(found["list"][0]["pcie"].is_null());
  EXPECT_NE(found["links_reason"].get<std::string>().find("no NVML: libnvidia-ml.so.1"), std::string::npos);
}

TEST(DoctorDevices, AnNvmlThatDoesNotStartIsNamedWithItsError) {
  if (driver() != "both") GTEST_SKIP() << "of the run with DRIVER=both";
  setenv("STAND_IN_NVML", "9", 1);
  const Json found = facts_of_devices();
  unsetenv("STAND_IN_NVML");
  EXPECT_EQ(found["links_reason"], "NVML does not start: error 9");
  EXPECT_TRUE(found["list"][0]["nvlink"].is_null());
}

TEST(DoctorDevices, ADriverWithoutDevicesOrThatDoesNotStartIsTold) {
  if (driver() != "alone") GTEST_SKIP() << "of the run with DRIVER=alone";
  setenv("STAND_IN_DEVICES", "0", 1);
  EXPECT_EQ(facts_of_devices()["reason"], "the CUDA driver sees no device");
  setenv("STAND_IN_DEVICES", "-1", 1);
  const Json found = facts_of_devices();
  unsetenv("STAND_IN_DEVICES");
  EXPECT_EQ(found["reason"], "the CUDA driver does not start: error 999");
  EXPECT_EQ(found["list"], Json::array());
}

TEST(DoctorDevices, WithoutADriverOneLineSaysSo) {
  if (driver() != "none") GTEST_SKIP() << "of the run with DRIVER=none";
  if (dlopen("libcuda.so.1", RTLD_LAZY)) GTEST_SKIP() << "this machine has CUDA's driver";
  const Json found = facts_of_devices();
  EXPECT_NE(found["reason"].get<std::string>().find("no CUDA driver: libcuda.so.1"), std::string::npos);
  EXPECT_EQ(found["list"], Json::array());
}

TEST(DoctorDevices, UsesPeerAccessWhereNothingBetterServes) {
  if (stretto_cuda_available() != STRETTO_OK) GTEST_SKIP() << stretto_message();
  const Json all = {{"list", {{{"peers", {1}}}, {{"peers", {0}}}}}},
             one = {{"list", {{{"peers", {1}}}, {{"peers", Json::array()}}}}};
  const auto carrier = [](const std::string& transport, const HostDevices& host) {
    return carrier_of_device_memory(
               "an MPI", [&] { return transport; }, host)
        .get<std::string>();
  };
  const std::string peer = "moved between devices by peer access (CUDA IPC between processes)",
                    host = "copied to pinned memory of the host, and sent over an MPI";
  EXPECT_EQ(carrier("", {all, true}), peer);
  EXPECT_EQ(carrier("", {one, true}), host);
  EXPECT_EQ(carrier("", {all, false}), host);
  EXPECT_EQ(carrier("MPI with device pointers", {all, true}), "moved between devices by MPI with device pointers");
  setenv("STRETTO_DEVICE_CARRIER", "peer", 1);
  EXPECT_EQ(carrier("MPI with device pointers", {all, true}), peer);
  setenv("STRETTO_DEVICE_CARRIER", "host", 1);
  EXPECT_EQ(carrier("", {all, true}), host);
  unsetenv("STRETTO_DEVICE_CARRIER");
}

}  // namespace
}  // namespace stretto::doctor
